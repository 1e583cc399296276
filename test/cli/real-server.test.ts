import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openTestServer } from '../server/test-server.ts'
import { runCli } from './run-cli.ts'
import { temporaryDirectory } from './temporary-directory.ts'

it('administers a real server from login to logout', async () => {
  await using directory = await temporaryDirectory()
  const { server, createOrganization, now } = await openTestServer()
  const { personal_token } = await createOrganization('acme', 'alice')
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const setting = { home: directory.path, cwd: directory.path, stdin: personal_token, now }
  const said: string[] = []
  const steps: readonly (readonly [number, ...string[]])[] = [
    [0, 'login', '--server', url, '--org', 'acme', '--username', 'alice', '--token-stdin'],
    [0, 'policy', 'create', 'web'],
    [1, 'policy', 'create', 'web'],
    [0, 'rule', 'add', 'web', '--name', 'api', '--action', 'connect:tcp', '--allow', 'a.example'],
    [1, 'rule', 'add', 'web', '--name', 'api', '--action', 'connect:tcp', '--allow', 'b.example'],
    [1, 'rule', 'add', 'web', '--name', 'bad', '--action', 'connect:tcp', '--allow', 'a*.x'],
    [1, 'rule', 'add', 'web', '--name', 'mix', '--action', 'read', '--allow', '/x'],
    [0, 'rule', 'update', 'web', 'api', '--deny', '*.b.example:443', '10.0.0.0/8'],
    [0, 'policy', 'show', 'web'],
    [0, 'enrol', '--out', 'machine.json'],
    [0, 'enrolment', 'create', 'laptops', '--uses', '2', '--label', 'vm'],
    [0, 'device', 'list'],
    [0, 'rule', 'rm', 'web', 'api'],
    [0, 'policy', 'delete', 'web', '--yes'],
    [0, 'policy', 'list'],
    [0, 'logout'],
    [78, 'policy', 'list'],
  ]

  for (const [code, ...argv] of steps) {
    const result = await runCli(argv, setting)
    said.push(result.out + result.err)
    expect(`${argv.join(' ')}: ${result.code} ${result.err}`).toContain(`: ${code} `)
  }

  expect(said[2]).toMatch(/^error: [^\n]*web[^\n]*\(conflict\)\n$/)
  expect(said[5]).toMatch(/^error: resources\[0\]: [^\n]*\(invalid_argument\)\n$/)
  expect(said[6]).toMatch(/^error: [^\n]*\(domain_mismatch\)\n$/)
  expect(said[8]).toMatch(/\napi +deny +connect:tcp +\*\.b\.example:443\n +10\.0\.0\.0\/8\n$/)
  const enrolment: unknown = JSON.parse(
    await readFile(join(directory.path, 'machine.json'), 'utf8'),
  )
  expect(enrolment).toMatchObject({ org: 'acme', user: null })
  expect(said[10]).toMatch(/^pal_enr_\w{49}\.acme\.[0-9a-f]{64}\.http:\/\/127\.0\.0\.1:\d+\n$/)
  expect(said[11]).toMatch(/^NAME +DEVICE +USER +LABELS +STATE +REV .*LAST SEEN\n.+ [0-9a-f]{8}… +/)
  expect(said[14]).toContain('no policies')
})
