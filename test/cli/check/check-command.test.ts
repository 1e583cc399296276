import { decisionSchema, explanationSchema } from '@palisade/protocol'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { envelope, startLoopbackServer, type Reply } from '../../client/loopback-server.ts'
import { POLICY_FILE, rule } from '../policy-fixture.ts'
import { runCli, type CliRun } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

async function withPolicies(argv: readonly string[]): Promise<CliRun> {
  await using directory = await temporaryDirectory()
  const file = await directory.write('policies.json', POLICY_FILE)
  return await runCli([...argv, '--policies', file], { cwd: directory.path })
}

async function withAgent(argv: readonly string[], reply: Reply): Promise<CliRun> {
  await using directory = await temporaryDirectory()
  const socket = join(directory.path, 'agent.sock')
  await using agent = await startLoopbackServer(() => reply, socket)
  return await runCli(argv, { env: { PALISADE_AGENT_SOCKET: agent.url } })
}

const AGENT_ALLOW = {
  decision: 'allow',
  reason: 'rule',
  rules: [],
  request: { action: 'read', path: '/x' },
  revision: 9,
  stale: true,
  hint: null,
}

describe('palisade check', () => {
  it.each([
    ['connect:tcp', 'api.example.com:443', 0, 'rule'],
    ['connect:tcp', 'API.example.com.:443', 0, 'rule'],
    ['connect:tcp', 'api.example.com:80', 1, 'default_deny'],
    ['connect:udp', 'api.example.com:443', 1, 'default_deny'],
    ['connect:tcp', 'bad.example.com:443', 1, 'rule'],
    ['connect:tcp', 'example.com:443', 1, 'default_deny'],
    ['connect:tcp', '[2001:db8::1]:443', 0, 'rule'],
    ['connect:tcp', '[192.0.2.1]:443', 2, 'invalid_request'],
    ['connect:tcp', '192.0.2.1:443', 0, 'rule'],
    ['connect:tcp', 'user@api.example.com:443', 2, 'invalid_request'],
    ['connect:tcp', 'api.example.com:0', 2, 'invalid_request'],
    ['connect:tcp', 'api.example.com:99999999999999999999', 2, 'invalid_request'],
    ['read', '/home/dev/work/a', 0, 'rule'],
    ['write', '/home/dev/work/a', 1, 'default_deny'],
    ['read', '/home/dev/work/../.ssh', 2, 'invalid_request'],
    ['read', 'work', 2, 'invalid_request'],
  ])('answers %s %s with exit %i and %s', async (action, target, code, reason) => {
    const result = await withPolicies(['check', action, target, '--json'])

    expect(result).toMatchObject({ code, err: '' })
    const decision = decisionSchema.parse(JSON.parse(result.out))
    expect(decision).toMatchObject({ decision: code === 0 ? 'allow' : 'deny', reason })
    expect(result.out).toBe(`${result.out.trim()}\n`)
  })

  it('decides on the address that is given', async () => {
    const target = ['check', 'connect:tcp', 'api.example.com:443', '--json', '--address']

    expect((await withPolicies([...target, '203.0.113.7'])).code).toBe(0)
    expect((await withPolicies([...target, '127.0.0.1'])).out).toContain('protected_address')
    expect((await withPolicies([...target, 'nonsense'])).out).toContain('invalid_request')
  })

  it('shows the deciding rule, the hint, and whether the address is decided', async () => {
    const denied = await withPolicies(['check', 'connect:tcp', 'bad.example.com:443'])
    const missed = await withPolicies(['check', 'connect:tcp', 'api.example.com:80'])
    const allowed = await withPolicies(['check', 'connect:tcp', 'api.example.com:443'])

    expect(denied.out).toBe(
      'deny  connect:tcp bad.example.com:443  (rule)\n' +
        '  deny by rule `bad` of policy `web`: bad.example.com\n',
    )
    expect(missed.out).toContain(
      'to change this: allow connect:tcp api.example.com:80 ' +
        '(an editor of the organization adds it)',
    )
    expect(allowed.out).toContain('decided by name only')
  })

  it.each(['check', 'explain'])(
    '%s of a file never denies a name whose address decides, and exits with 3',
    async (command) => {
      await using directory = await temporaryDirectory()
      const rules = [rule('rule_all all', 'allow connect:tcp', ['0.0.0.0/0'])]
      const policies = [{ id: 'pol_all', name: 'all', allowlist_v0: { rules } }]
      const file = await directory.write('policies.json', { policies })
      const ask = (...rest: string[]): Promise<CliRun> =>
        runCli([command, 'connect:tcp', 'packages.example.com:443', '--policies', file, ...rest], {
          cwd: directory.path,
        })

      const open = await ask()
      const object = await ask('--json')
      const allowed = await ask('--address', '203.0.113.7')
      const denied = await ask('--address', '127.0.0.1')

      expect(open).toMatchObject({ code: 3, err: '' })
      expect(open.out).toContain('depends on the address  connect:tcp packages.example.com:443')
      expect(open.out).toContain('the address it resolves to decides (`--address IP`)')
      expect(open.out).not.toMatch(/^deny|to change this/m)
      expect(object.code).toBe(3)
      expect(JSON.parse(object.out)).toMatchObject({
        decision: 'deny',
        reason: 'default_deny',
        address_required: true,
      })
      expect(allowed.code).toBe(0)
      expect(denied.code).toBe(1)
      expect(denied.out).toContain(
        'packages.example.com resolves to the protected address 127.0.0.1',
      )
      expect(denied.out).not.toContain('to change this')
    },
  )

  it('names no editor if no organization governs', async () => {
    await using directory = await temporaryDirectory()
    const file = await directory.write('policies.json', { local: [] })

    const { out } = await runCli(['check', 'read', '/x', '--policies', file], {
      cwd: directory.path,
    })

    expect(out).toContain('to change this: allow read /x\n')
  })

  it('has the agent resolve the name, and shows every address', async () => {
    const decided = {
      ...AGENT_ALLOW,
      stale: false,
      request: { action: 'connect:tcp', host: 'x.test', port: 443, address: '203.0.113.7' },
      addresses: [
        { address: '127.0.0.1', decision: 'deny', reason: 'protected_address' },
        { address: '203.0.113.7', decision: 'allow', reason: 'rule' },
      ],
    }
    await using directory = await temporaryDirectory()
    const socket = join(directory.path, 'agent.sock')
    await using agent = await startLoopbackServer(() => ({ body: decided }), socket)

    const { code, out } = await runCli(['check', 'connect:tcp', 'x.test:443'], {
      env: { PALISADE_AGENT_SOCKET: socket },
    })

    expect(code).toBe(0)
    expect(out).toBe(
      'allow  connect:tcp x.test:443 at 203.0.113.7  (rule)\n' +
        '  also resolves to 127.0.0.1: deny (protected_address)\n',
    )
    expect(JSON.parse(agent.seen[0]?.body ?? '')).toEqual({
      action: 'connect:tcp',
      host: 'x.test',
      port: 443,
      resolve: true,
    })
  })

  it.each([
    ['allow', 'rule', 0, 'the name does not resolve now; decided by name only'],
    ['deny', 'default_deny', 3, 'the name does not resolve now; no rule matches the name'],
  ])('reports a name that does not resolve, for %s', async (decision, reason, code, text) => {
    const answer = await withAgent(['check', 'connect:tcp', 'x.test:443'], {
      body: {
        ...AGENT_ALLOW,
        decision,
        reason,
        request: { action: 'connect:tcp', host: 'x.test', port: 443 },
        address_required: true,
        addresses: [],
      },
    })

    expect(answer.code).toBe(code)
    expect(answer.out).toContain(text)
  })

  it.each([
    [['read', 'work/x'], 'is not absolute'],
    [['read', 'C:\\x'], 'is not absolute'],
    [['connect:tcp', '*.example.com:443'], 'neither a host name nor an address'],
  ])('names the invalid part of %j', async (target, words) => {
    const { code, out } = await withPolicies(['check', ...target])

    expect(code).toBe(2)
    expect(out).toMatch(/^not evaluated {2}invalid request {2}\(invalid_request\)\n/)
    expect(out).toContain(words)
  })

  it('explains with every match, near misses and detail', async () => {
    const denied = await withPolicies(['explain', 'connect:tcp', 'bad.example.com:443'])
    const missed = await withPolicies(['explain', 'connect:tcp', 'example.com:443', '--json'])
    const invalid = await withPolicies(['explain', 'connect:tcp', 'exa mple.com:443'])

    expect(denied).toMatchObject({ code: 1, err: '' })
    expect(denied.out).toContain('decided by\n  deny by rule `bad`')
    expect(denied.out).toContain('also matched\n  allow by rule `api`')
    expect(missed.code).toBe(1)
    const explanation = explanationSchema.parse(JSON.parse(missed.out))
    expect(explanation.near_misses.map((miss) => miss.rule_id)).toContain('rule_api')
    expect(invalid.out).toContain('neither a host name nor an address')
  })

  it('names an inactive local allow once, among the rules that matched', async () => {
    const rule = {
      policy_id: 'local',
      policy_name: 'local',
      rule_id: 'mine',
      rule_name: 'mine',
      decision: 'allow',
      resource: 'x.test',
      origin: 'local',
    }
    const near = { ...rule, rule_id: 'other', rule_name: 'other', resource: 'x.test:80' }
    const answer = await withAgent(['explain', 'connect:tcp', 'x.test:443'], {
      body: {
        ...AGENT_ALLOW,
        decision: 'deny',
        reason: 'default_deny',
        rules: [],
        request: { action: 'connect:tcp', host: 'x.test', port: 443 },
        matched: [{ ...rule, deciding: false, active: false }],
        near_misses: [
          { ...rule, miss: 'inactive', message: 'a local allow has no effect' },
          { ...near, miss: 'other_port', message: 'the rule is for port 80' },
        ],
        detail: null,
      },
    })

    expect(answer.out.match(/`mine`/g)).toHaveLength(1)
    expect(answer.out).toContain('(inactive: the organization governs)\nnearly matched\n')
    expect(answer.out).toContain('    the rule is for port 80')
  })

  it('keeps the exit code of a deny when the reader has gone', async () => {
    await using directory = await temporaryDirectory()
    const file = await directory.write('policies.json', POLICY_FILE)
    const stdout = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
      },
    })
    stdout.on('error', () => undefined)

    for (const command of ['check', 'explain'])
      expect(
        await runCli([command, 'read', '/etc/shadow', '--policies', file], {
          cwd: directory.path,
          stdout,
        }),
      ).toMatchObject({ code: 1, err: '' })
  })

  it('asks the agent without --policies', async () => {
    const allowed = await withAgent(['check', 'read', '/x'], { body: AGENT_ALLOW })
    const denied = await withAgent(['check', 'read', '/x'], {
      body: { ...AGENT_ALLOW, decision: 'deny', reason: 'no_policy' },
    })

    expect(allowed.code).toBe(0)
    expect(allowed.out).toContain('the policies are stale')
    expect(denied.code).toBe(1)
    expect(denied.out).toContain('no_policy')
  })

  it('reports the number of rules that the agent omitted', async () => {
    const named = {
      policy_id: 'pol_1',
      policy_name: 'all',
      rule_id: 'rule_1',
      rule_name: 'one',
      resource: '/x',
      origin: 'org',
    }
    const denied = { ...AGENT_ALLOW, decision: 'deny', rules: [{ ...named, decision: 'deny' }] }
    const other = { ...named, decision: 'allow', deciding: false, active: true }
    const explained = { ...denied, matched: [other], near_misses: [], detail: null }

    const checked = await withAgent(['check', 'read', '/x'], {
      body: { ...denied, rules_omitted: 24_400 },
    })
    const told = await withAgent(['explain', 'read', '/x'], {
      body: { ...explained, rules_omitted: 24_400, matched_omitted: 24_401 },
    })

    expect(checked.out).toMatch(/^deny .*\n  deny by rule .*\n  and 24400 more rules\n/)
    expect(told.out).toMatch(/decided by\n  deny .*\n  and 24400 more rules\nalso matched\n/)
    expect(told.out).toMatch(/\nalso matched\n  allow .*\n  and 1 more rule\n/)
  })

  it.each<[string, Reply]>([
    ['fails', envelope(500, 'internal')],
    ['talks nonsense', { body: '<html>' }],
    ['answers another shape', { body: { decision: 'allow' } }],
  ])('answers 2, never 0 or 1, when the agent %s', async (_name, reply) => {
    const result = await withAgent(['check', 'read', '/x'], reply)

    expect(result).toMatchObject({ code: 2, out: '' })
    expect(result.err).toMatch(/^error: [^\n]+\n$/)
  })

  it('says in one line how to start an agent that is not running', async () => {
    for (const command of ['check', 'explain']) {
      const result = await runCli([command, 'read', '/x'])

      expect(result).toMatchObject({ code: 2, out: '' })
      expect(result.err).toMatch(
        /^error: [^\n]*not running; no machine is enrolled[^\n]*`--policies FILE`\n$/,
      )
    }
  })

  it('does not ask an agent in a directory that others can write to', async () => {
    await using directory = await temporaryDirectory()
    const { chmod } = await import('node:fs/promises')
    await chmod(directory.path, 0o777)
    const socket = join(directory.path, 'agent.sock')
    await using agent = await startLoopbackServer(() => ({ body: AGENT_ALLOW }), socket)

    const result = await runCli(['check', 'read', '/x'], { env: { PALISADE_AGENT_SOCKET: socket } })

    expect(result).toMatchObject({ code: 2, out: '' })
    expect(agent.seen).toEqual([])
  })
})
