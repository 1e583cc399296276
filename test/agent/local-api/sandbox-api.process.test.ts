import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PolicyBundle } from '../../../agent/src/policy/decision/policy-bundle.ts'
import { bundleClaims, policyOf } from '../fixture/bundle.ts'
import { testUsers } from '../sandbox/fixture/bubblewrap.ts'
import { startUserMachine } from '../sandbox/fixture/machine-process.ts'

const SHELL = ['--', 'sh', '-c'] as const
const API = 'http://127.0.0.1:3130'
/** `curl` that prints the status after the body. */
const CURL = "curl -s -m 60 -w '|%{http_code}\\n'"

function opened(project: string): PolicyBundle {
  const files = policyOf(
    ['allow', 'read', `${project}/**`, project],
    ['allow', 'write', `${project}/**`, project],
    ['deny', 'read', '/**/.env'],
  )
  const network = policyOf(
    ['allow', 'connect:tcp', 'good.test:80', '192.0.2.7', '127.0.0.1'],
    ['deny', 'connect:tcp', 'bad.test'],
  )
  return bundleClaims({ policies: [files, { ...network, id: 'pol_2' }] })
}

const MACHINE = { bundle: opened, names: { 'good.test': ['192.0.2.7'] } }

describe.each(testUsers())('the API in a sandbox of %s', (user) => {
  it('lets `palisade` ask, and says the same as the sandbox does', async () => {
    const machine = await startUserMachine(user, MACHINE)
    const script =
      'palisade status --json; palisade rules; ' +
      `palisade check read ${machine.project}/x; palisade check read ${machine.project}/.env; ` +
      'palisade check connect:tcp bad.test:80; ' +
      'curl -s http://bad.test/ >/dev/null; palisade why; ' +
      'echo \'{"hook_event_name":"PreToolUse","cwd":"/tmp","tool_name":"Read",' +
      '"tool_input":{"file_path":"/etc/passwd"}}\' | palisade hook claude'
    const { stdout, stderr } = await machine.run([...SHELL, script])
    // The questions are no denials.
    expect(stderr).toBe('palisade: 1 denied: bad.test:80 – palisade why\n')
    expect(stdout).toContain('"proxy":"http://127.0.0.1:3128"')
    expect(stdout).toContain('revision 7, fresh: 5 rules listed')
    expect(stdout).toContain(`allow  read ${machine.project}/x`)
    expect(stdout).toMatch(/deny {2}read \S+\/\.env/)
    expect(stdout).toContain('deny  connect:tcp bad.test:80')
    expect(stdout).toMatch(/denied +connect:tcp bad\.test:80\n/)
    expect(stdout).toMatch(/"permissionDecision":"deny".*retry/)
    const { events } = await machine.look()
    expect(events.length).toBeGreaterThan(2)
    expect(events.every(({ sandbox }) => sandbox === events[0]?.sandbox)).toBe(true)
    expect(events.map(({ point }) => point)).toContain('local_api')
  })

  it('answers for a program of the sandbox, whose loopback is its own', async () => {
    const machine = await startUserMachine(user, MACHINE)
    const script =
      'palisade check connect:tcp 127.0.0.1:80; palisade explain connect:tcp 127.0.0.1:80'
    const { stdout } = await machine.run([...SHELL, script])
    expect(stdout).toContain('deny  connect:tcp 127.0.0.1:80  (protected_address)')
    expect(stdout).toContain('loopback belongs to the sandbox')
    expect((await machine.look()).resolved).toEqual([])
  })

  it('changes nothing, and says that sandboxes do not nest', async () => {
    const machine = await startUserMachine(user, MACHINE)
    const paths =
      'sync import local-rules local-rules/remove break-glass break-glass/end sandboxes ' +
      'log/verification'
    const script =
      `for p in ${paths}; do ${CURL} -X POST -d '{}' ${API}/v1/$p; ${CURL} ${API}/v1/$p; done; ` +
      `${CURL} -o /dev/null ${API}/v1/none; ` +
      'palisade sync; palisade run -- true; ' +
      'env -u PALISADE_SANDBOX palisade run -- true; echo "code $?"'
    const { stdout, stderr } = await machine.run([...SHELL, script])
    expect(stdout.match(/\|403/g)).toHaveLength(16)
    expect(stdout).toContain('|404')
    expect(stderr.match(/may only ask/g)).toHaveLength(1)
    expect(stderr.match(/sandboxes do not nest/g)).toHaveLength(2)
    expect(stdout).toContain('code 125')
    expect((await machine.look()).sandboxes).toBeLessThan(2)
  })

  it('shows no records of other sandboxes', async () => {
    const machine = await startUserMachine(user, MACHINE)
    await machine.run([...SHELL, 'curl -s http://bad.test/'])
    const script = `palisade why; ${CURL} "${API}/v1/log?limit=10000"; curl -s http://192.0.2.8/; `
    const { stdout } = await machine.run([...SHELL, `${script}palisade why`])
    expect(stdout).not.toContain('bad.test')
    expect(stdout).toContain('no denial is recorded yet')
    expect(stdout).toContain('connect:tcp 192.0.2.8:80')
    const { records } = await machine.look()
    expect(records.filter((line) => 'point' in line && line.point !== 'files')).toHaveLength(2)
  })

  it('refuses web pages, other names of its address and what is too long', async () => {
    const machine = await startUserMachine(user, MACHINE)
    await writeFile(join(machine.project, 'long'), 'x'.repeat(70_000))
    await writeFile(join(machine.project, 'lines'), '{"action":"read","path":"/x"}\n'.repeat(1_001))
    const asks = [
      `-H 'Host: localhost:3130' ${API}/v1/status`,
      `-H 'Host: evil.test:3130' ${API}/v1/status`,
      `-H 'Host: 127.0.0.1' ${API}/v1/status`,
      `-H 'Host:' -0 ${API}/v1/status`,
      `-H 'Origin: http://evil.test' ${API}/v1/decide -d '{"action":"read","path":"/x"}'`,
      `-H 'Origin: null' ${API}/v1/status`,
      `${API}/v1/status?x=1`,
      `${API}/v1/decide --data-binary @long`,
      `${API}/v1/decide -H 'content-type: application/x-ndjson' --data-binary @lines`,
      `-x ${API} http://good.test/`,
      `-x '' http://127.0.0.2:3130/v1/status`,
      `--noproxy '' http://127.0.0.1:3130/v1/status`,
    ]
    const script = asks.map((each) => `${CURL} -o /dev/null ${each}`).join('\n')
    const { stdout } = await machine.run([...SHELL, script])
    expect(stdout.split('\n').slice(0, -1)).toEqual(
      [200, 403, 403, 403, 403, 403, 404, 413, 400, 403, 0, 403].map(
        (status) => `|${String(status).padStart(3, '0')}`,
      ),
    )
  })

  it('ends a request that does not come, and goes on to answer others', async () => {
    const machine = await startUserMachine(user, MACHINE)
    const slow =
      'use IO::Socket::INET; my @c = map { IO::Socket::INET->new(PeerAddr => "127.0.0.1:3130") }' +
      ' 1..40; print {$_} "GET /v1/status HTTP/1.1\\r\\n" for grep { $_ } @c;' +
      ' print system("palisade check read /x >answer"), "\\n";' +
      ' for my $c (grep { $_ } @c) { 1 while $c->sysread(my $b, 100) } print "ended\\n"'
    const { stdout } = await machine.run(['--', 'perl', '-e', slow])
    expect(stdout).toMatch(/^\d+\nended\n$/)
    expect(stdout).toMatch(/^256\n/)
  })

  it('tells a program that is denied not to try again', async () => {
    const machine = await startUserMachine(user, MACHINE)
    const script =
      'curl -s http://bad.test/; unset http_proxy HTTP_PROXY all_proxy ALL_PROXY; ' +
      'curl -s http://192.0.2.9/'
    const { stdout } = await machine.run([...SHELL, script])
    expect(stdout.match(/retry/g)?.length).toBeGreaterThanOrEqual(2)
  })
})
