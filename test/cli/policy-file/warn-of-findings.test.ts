import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openTestServer } from '../../server/test-server.ts'
import { runCli, type CliRun } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

async function openAcme() {
  const { server, createOrganization } = await openTestServer()
  const { personal_token } = await createOrganization('acme', 'alice')
  const env = {
    PALISADE_SERVER: await server.app.listen({ host: '127.0.0.1', port: 0 }),
    PALISADE_ORG: 'acme',
    PALISADE_USERNAME: 'alice',
    PALISADE_TOKEN: personal_token,
  }
  return (...argv: string[]): Promise<CliRun> => runCli(argv, { env })
}

const ADD = ['rule', 'add', 'web', '--action', 'connect:tcp']
const add = (name: string, ...more: string[]): string[] => [...ADD, '--name', name, ...more]

it('warns of a doubtful rule that is added or changed, and not of a good one', async () => {
  const run = await openAcme()
  await run('policy', 'create', 'web')

  const good = await run(...add('good', '--allow', 'api.example.com:443'))
  const wide = await run(...add('wide', '--allow', '*.com', '--json'))
  const changed = await run('rule', 'update', 'web', 'good', '*.org')

  expect(good).toMatchObject({ code: 0, err: '' })
  expect(wide.code).toBe(0)
  expect(wide.err).toMatch(/^warning: rule `wide`: [^\n]+\n/)
  expect(JSON.parse(wide.out)).toMatchObject({ name: 'wide' })
  expect(changed.err).toMatch(/^warning: rule `good`: /)
})

it('notes an allow that opens a protected address', async () => {
  const run = await openAcme()
  await run('policy', 'create', 'web')

  const opened = await run(...add('role', '--allow', '169.254.169.254:80'))

  expect(opened).toMatchObject({ code: 0, err: expect.stringMatching(/^note: rule `role`: /) })
})

it('warns of an allow that a new deny leaves without effect', async () => {
  const run = await openAcme()
  await run('policy', 'create', 'web')
  await run(...add('open', '--allow', 'api.example.com:443'))

  const shut = await run(...add('shut', '--deny', '**.example.com'))

  expect(shut.err).toMatch(/^warning: rule `open`: /)
})

it('warns of policies that plan and apply change, and not of unchanged ones', async () => {
  await using directory = await temporaryDirectory()
  const run = await openAcme()
  const rules = [
    { name: 'wide', actions: ['connect:tcp'], decision: 'allow', resources: ['*.com'] },
  ]
  const file = join(directory.path, 'web.json')
  await writeFile(file, JSON.stringify({ policies: [{ name: 'web', rules }] }))

  const plan = await run('plan', file)
  const applied = await run('apply', file, '--yes')
  const again = await run('plan', file)

  for (const { code, err } of [plan, applied])
    expect([code, err]).toEqual([0, expect.stringMatching(/^warning: rule `wide`: /)])
  expect(again).toMatchObject({ code: 0, err: '' })
})
