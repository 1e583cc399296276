import { createServer } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCli, type CliRun } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const HEAD = {
  kind: 'head',
  state: 'fresh',
  revision: 12,
  stale: false,
  offline_allow: [],
  rules: 3,
}
const ALLOW = {
  kind: 'rule',
  origin: 'org',
  policy_id: 'pol_1',
  policy_name: 'registry',
  rule_id: 'rule_1',
  rule_name: 'npm',
  decision: 'allow',
  actions: ['connect:tcp'],
  resources: ['registry.example:443', '*.registry.example:443'],
  active: true,
}
const READ = { ...ALLOW, rule_name: 'home', actions: ['read'], resources: ['~/w\u001bork/**'] }
const LOCAL = {
  ...ALLOW,
  origin: 'local',
  rule_name: 'mine',
  active: false,
  inactive_reason: 'governed',
}

async function list(argv: readonly string[], lines: readonly object[]): Promise<CliRun> {
  await using directory = await temporaryDirectory()
  const socket = join(directory.path, 'agent.sock')
  const server = createServer((_, response) => {
    response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  })
  server.listen(socket)
  await once(server, 'listening')
  try {
    return await runCli(['rules', ...argv], { env: { PALISADE_AGENT_SOCKET: socket } })
  } finally {
    server.close()
  }
}

describe('palisade rules', () => {
  it('lists active rules with their origin, and leaves inactive ones out', async () => {
    const { code, out, err } = await list([], [HEAD, ALLOW, READ, LOCAL])

    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^DECISION +ACTIONS +RESOURCES +RULE +POLICY +ORIGIN\n/)
    expect(out).toMatch(/\nallow +connect:tcp +registry\.example:443 +npm +registry +org\n/)
    expect(out).toContain('~/w\\u001bork/**')
    expect(out).not.toContain('mine')
    expect(out).toMatch(/\nrevision 12, fresh: 2 rules listed\n$/)
  })

  it('shows inactive rules and the reason on request', async () => {
    const { out } = await list(['--include-inactive'], [HEAD, LOCAL])

    expect(out).toMatch(/\nallow \(inactive\) +connect:tcp .+ mine .+ local\n/)
    expect(out).toContain('the organization governs this machine')
  })

  it('lists the rules of one action, and refuses an unknown one', async () => {
    const { out } = await list(['--action', 'read'], [HEAD, ALLOW, READ])
    const unknown = await list(['--action', 'execute'], [HEAD])

    expect(out).toContain('home')
    expect(out).not.toContain('npm')
    expect(unknown.code).toBe(2)
  })

  it('prints one JSON object', async () => {
    const { out } = await list(['--json'], [HEAD, ALLOW, LOCAL])

    const { kind: _, ...rule } = ALLOW
    expect(JSON.parse(out)).toEqual({
      state: 'fresh',
      revision: 12,
      stale: false,
      offline_allow: [],
      rules: [rule],
    })
  })

  it('says that everything is denied without a policy in force', async () => {
    const { out } = await list([], [{ ...HEAD, state: 'never_loaded', revision: null, rules: 0 }])

    expect(out).toBe('state never_loaded: everything is denied; run `palisade status`\n')
  })

  it('fails with a way to start the agent when none runs', async () => {
    await using directory = await temporaryDirectory()
    const env = { PALISADE_AGENT_SOCKET: join(directory.path, 'agent.sock') }

    const { code, err } = await runCli(['rules'], { env, cwd: directory.path })

    expect(code).toBe(1)
    expect(err).toContain('it is not running')
  })
})
