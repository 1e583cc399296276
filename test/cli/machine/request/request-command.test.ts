import type { AccessGrant, AccessRequest, LocalAccessList } from '@palisade/protocol'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startLoopbackServer } from '../../../client/loopback-server.ts'
import { DENIAL, formatLines, RULE_DENIAL } from '../log-records.ts'
import { runCli, type CliRun } from '../../run-cli.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

const ID = `acr_${'a'.repeat(28)}`
const PENDING: AccessRequest = {
  id: ID,
  username: 'alice',
  device_id: 'dev_1',
  state: 'pending',
  action: 'connect:tcp',
  resources: ['api.example.com:443'],
  duration_seconds: 28_800,
  once: false,
  reason: 'release',
  created_at: '2026-11-21T12:00:00.000Z',
  decided_at: null,
  decided_by: null,
  answer: null,
  grant: null,
}
const GRANT: AccessGrant = {
  id: ID,
  action: 'connect:tcp',
  resources: ['api.example.com:443'],
  not_before: '2026-11-21T12:00:00Z',
  expires_at: '2026-11-21T20:00:00Z',
}
const APPROVED: AccessRequest = {
  ...PENDING,
  state: 'approved',
  decided_by: 'user:bob',
  answer: 'until tonight',
  grant: GRANT,
}
const RULE = {
  policy_id: 'pol_1',
  policy_name: 'web',
  rule_id: 'rule_1',
  rule_name: 'api',
  decision: 'allow',
  resource: 'api.example.com',
  origin: 'org',
}
const ALLOWED = {
  ...DENIAL.decision,
  decision: 'allow',
  reason: 'rule',
  rules: [RULE],
  request: { action: 'connect:tcp', host: 'api.example.com', port: 443 },
  hint: null,
}
const REASON = ['--reason', 'release']

function listOf(request: AccessRequest, ...grants: LocalAccessList['grants']): LocalAccessList {
  return { requests: [request], grants, error: null }
}

async function request(
  argv: readonly string[],
  {
    lists = [],
    log = '',
    error = null,
    decision = DENIAL.decision,
  }: {
    readonly lists?: readonly LocalAccessList[]
    readonly log?: string
    readonly error?: { readonly code: string; readonly message: string } | null
    readonly decision?: object
  } = {},
): Promise<CliRun & { readonly sent: readonly unknown[]; readonly decided: readonly unknown[] }> {
  await using directory = await temporaryDirectory()
  const left = [...lists]
  await using agent = await startLoopbackServer(
    ({ url }) => {
      if (url === '/v1/access-requests')
        return {
          body:
            error === null
              ? { outcome: 'requested', request: PENDING, error }
              : { outcome: 'failed', request: null, error },
        }
      if (url === '/v1/access-requests/list')
        return { body: left.length > 1 ? left.shift() : left[0] }
      if (url === '/v1/decide') return { body: decision }
      return { body: log }
    },
    join(directory.path, 'agent.sock'),
  )
  const result = await runCli(['request', ...argv], { env: { PALISADE_AGENT_SOCKET: agent.url } })
  const sentTo = (path: string): readonly unknown[] =>
    agent.seen.filter(({ url }) => url === path).map(({ body }) => JSON.parse(body) as unknown)
  return { ...result, sent: sentTo('/v1/access-requests'), decided: sentTo('/v1/decide') }
}

describe('palisade request', () => {
  it.each([
    [['api.example.com:443'], { action: 'connect:tcp', resources: ['api.example.com:443'] }],
    [
      ['[2001:db8::1]:53', '--action', 'connect:udp'],
      { action: 'connect:udp', resources: ['[2001:db8::1]:53'] },
    ],
    [['/srv/data'], { action: 'read', resources: ['/srv/data'] }],
    [['~/project/**'], { action: 'read', resources: ['~/project/**'] }],
    [
      ['/srv/data', '--action', 'write', '--for', '30m'],
      { action: 'write', duration_seconds: 1800 },
    ],
    [['api.example.com:443', '--once'], { once: true }],
  ])('asks for %j', async (argv, expected) => {
    const { code, sent, out } = await request([...argv, ...REASON])

    expect(sent).toMatchObject([{ duration_seconds: 28_800, reason: 'release', ...expected }])
    expect(code).toBe(0)
    expect(out).toContain(ID)
  })

  it('makes no request for a target that a rule allows already', async () => {
    const { code, sent, decided, out } = await request(['api.example.com:443', ...REASON], {
      decision: ALLOWED,
    })
    const json = await request(['api.example.com:443', ...REASON, '--json'], { decision: ALLOWED })

    expect([code, sent, json.code, json.sent]).toEqual([0, [], 0, []])
    expect(decided).toEqual([
      { action: 'connect:tcp', host: 'api.example.com', port: 443, resolve: true },
    ])
    expect(out).toBe(
      'allowed already  connect:tcp api.example.com:443\n' +
        '  allow by rule `api` of policy `web`: api.example.com\n' +
        'no request was made\n',
    )
    expect(JSON.parse(json.out)).toMatchObject({ outcome: 'allowed', decision: { rules: [RULE] } })
  })

  it.each([
    ['by a grant, which ends', ['api.example.com:443'], [{ ...RULE, origin: 'grant' }], 'rule'],
    ['because the organization observes', ['api.example.com:443'], [], 'observed'],
  ])('asks for a target that is allowed %s', async (_, argv, rules, reason) => {
    const decision = { ...ALLOWED, rules, reason }

    expect((await request([...argv, ...REASON], { decision })).sent).toHaveLength(1)
  })

  it('asks the agent about a path below the home directory, and about no pattern', async () => {
    const path = await request(['~/notes', ...REASON])
    const pattern = await request(['/srv/**', ...REASON], { decision: ALLOWED })

    expect(path.decided).toMatchObject([{ action: 'read', path: '/nonexistent/home/notes' }])
    expect([pattern.decided, pattern.sent.length]).toEqual([[], 1])
  })

  it('asks for the last denied target without one', async () => {
    const { sent } = await request(REASON, { log: formatLines(DENIAL) })

    expect(sent).toMatchObject([{ action: 'connect:tcp', resources: ['api.example.com:443'] }])
  })

  it('asks for a denied workspace with everything below it', async () => {
    const denied = {
      ...DENIAL,
      point: 'files',
      protocol: 'mount',
      decision: { ...DENIAL.decision, request: { action: 'write', path: '/srv/app' } },
    } as typeof DENIAL
    const { sent } = await request(REASON, { log: formatLines(denied) })

    expect(sent).toMatchObject([{ action: 'write', resources: ['/srv/app/**'] }])
  })

  it('asks for no more than the denied path, whose name may look like a pattern', async () => {
    const path = '/srv/**'
    const denied = {
      ...DENIAL,
      decision: { ...DENIAL.decision, request: { action: 'read', path } },
    } as typeof DENIAL
    const { code, sent, err } = await request(REASON, { log: formatLines(denied) })

    expect([code, sent]).toEqual([2, []])
    expect(err).toContain('the last denied path `/srv/**` has a `*`')
  })

  it('asks for no target that a rule denies, and for none without a denial', async () => {
    const ruled = await request(REASON, { log: formatLines(RULE_DENIAL) })
    const none = await request(REASON)

    expect([ruled.code, ruled.sent, none.code, none.sent]).toEqual([1, [], 2, []])
    expect(ruled.err).toContain('a grant would not lift the last denial (rule)')
  })

  it.each([
    [['api.example.com:443']],
    [['api.example.com', ...REASON]],
    [['api.example.com:443', ...REASON, '--for', '10s']],
    [['api.example.com:443', ...REASON, '--for', '99d']],
    [['/srv/data', '--once', ...REASON]],
    [['x', '--action', 'approve', ...REASON]],
  ])('refuses %j as wrong usage', async (argv) => {
    const { code, sent } = await request(argv)

    expect([code, sent]).toEqual([2, []])
  })

  it('ends with 1 and the reason when the request is refused', async () => {
    const error = { code: 'limit_exceeded', message: 'too many open requests' }

    const { code, err } = await request(['api.example.com:443', ...REASON], { error })

    expect(code).toBe(1)
    expect(err).toContain('too many open requests (limit_exceeded)')
  })

  it('waits until the access is in force, and shows the answer', async () => {
    const { code, out, err } = await request(['api.example.com:443', ...REASON, '--wait'], {
      lists: [listOf(PENDING), listOf(APPROVED), listOf(APPROVED, { ...GRANT, state: 'in_force' })],
    })

    expect(code).toBe(0)
    expect(err).toContain('requested')
    expect(out).toBe(
      'in force  connect:tcp api.example.com:443 until 2026-11-21T20:00:00Z ' +
        'by user:bob: until tonight\n',
    )
  })

  it.each([
    [
      listOf({ ...PENDING, state: 'rejected', answer: 'use the mirror', decided_by: 'user:bob' }),
      /rejected.*use the mirror/,
    ],
    [listOf({ ...PENDING, state: 'lapsed' }), /not answered in time/],
    [listOf(APPROVED, { ...GRANT, state: 'spent' }), /one use/],
    [listOf(APPROVED, { ...GRANT, state: 'without_effect' }), /palisade status/],
  ])('ends with 1 when the access is not in force', async (list, shown) => {
    const { code, out } = await request(['api.example.com:443', ...REASON, '--wait'], {
      lists: [list],
    })

    expect(code).toBe(1)
    expect(out).toMatch(shown)
  })
})

describe('palisade request ls', () => {
  it('lists the requests with the state on this machine', async () => {
    const { code, out } = await request(['ls'], {
      lists: [listOf(APPROVED, { ...GRANT, state: 'in_force' })],
    })

    expect(code).toBe(0)
    expect(out).toContain('approved, in force')
    expect(out).toContain('until tonight')
    expect(out).toContain('in 8 hours')
  })

  it('does not let a revoked grant end later', async () => {
    const revoked: AccessRequest = { ...APPROVED, state: 'revoked' }

    const { out } = await request(['ls'], { lists: [listOf(revoked)] })

    expect(out).toMatch(/\nrevoked +connect:tcp +api\.example\.com:443 +release /)
    expect(out).not.toContain('in 8 hours')
  })

  it('ends with 1 when the server did not answer', async () => {
    const error = { code: 'unreachable', message: 'cannot reach the server' }

    const { code, err } = await request(['ls'], { lists: [{ requests: [], grants: [], error }] })

    expect(code).toBe(1)
    expect(err).toContain('cannot reach the server (unreachable)')
  })
})
