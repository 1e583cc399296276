import type { ReplayLine, ReplayResult } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freshName } from '../../fresh-name.ts'
import type { EvidenceRow } from '../../../../server/src/evidence/store/evidence-record.ts'
import type { EvidenceBatch } from '../../../../server/src/evidence/store/evidence-store.ts'
import { openOwner, type Owner } from '../../owner.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { appendRows, row } from '../store/evidence-batches.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const HOUR_MS = 60 * 60_000

const ALLOW = { name: 'npm', actions: ['connect:tcp'], decision: 'allow' }
const policy = (...resources: string[]) => ({
  name: 'web',
  rules: [{ ...ALLOW, resources }],
})

describe('a replay', () => {
  let test: TestServer
  let org: string
  let alice: string
  let device: string
  let owner: Owner

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    ;[org, alice] = [freshName('acme'), freshName('alice')]
    device = freshName('dev')
    owner = await openOwner(test, org, alice)
  })

  const record = (host: string, decisions = 1, changes: object = {}) =>
    row({ last_ms: test.now() - HOUR_MS, decisions, tuple: { host, ...changes } })
  const append = (rows: readonly EvidenceRow[], changes: Partial<EvidenceBatch> = {}) =>
    appendRows(test.evidence, rows, { org, username: alice, device_id: device, ...changes })
  const apply = async (...policies: object[]) => {
    const answer = await test.send('POST', `/api/v1/orgs/${org}/apply`, {
      as: owner.as,
      payload: { policies },
    })
    expect(answer.statusCode, answer.body).toBe(200)
  }
  const send = (payload: object, as = owner.as) =>
    test.send('POST', `/api/v1/orgs/${org}/replay`, { as, payload })
  const replay = async (payload: object, as = owner.as): Promise<ReplayResult> => {
    const answer = await send(payload, as)
    expect(answer.statusCode, answer.body).toBe(200)
    expect(answer.headers['content-type']).toBe('application/x-ndjson')
    const lines = answer.body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as ReplayLine)
    const last = lines.pop()
    if (last === undefined || !('result' in last)) throw new Error(answer.body)
    for (const line of lines) expect(line).toHaveProperty('progress')
    return last.result
  }

  it('shows the requests that a document would newly deny and allow', async () => {
    await apply(policy('a.example', 'b.example'))
    await append([
      record('a.example', 5, { program: '/usr/bin/npm' }),
      record('b.example', 2),
      record('c.example', 3, { decision: 'deny', reason: 'default_deny' }),
    ])

    const result = await replay({ policies: [policy('b.example', 'c.example')], days: 1 })

    expect(result).toMatchObject({
      from: new Date(test.now() - 24 * HOUR_MS).toISOString(),
      to: new Date(test.now()).toISOString(),
      upload: 'off',
      recorded: { count: 10, users: 1, devices: 1 },
      newly_denied: {
        count: 5,
        more_groups: 0,
        groups: [
          {
            count: 5,
            action: 'connect:tcp',
            target: 'a.example:443',
            before: { decision: 'allow', reason: 'rule', rules: [{ rule_name: 'npm' }] },
            after: { decision: 'deny', reason: 'default_deny', rules: [] },
            example: { device_id: device, username: alice, program: '/usr/bin/npm' },
          },
        ],
      },
      newly_allowed: { count: 3, groups: [{ target: 'c.example:443' }] },
      unchanged: { count: 2 },
      without_address: { count: 10 },
      not_judged: [],
      drift: [],
    })
  })

  it('of the policies in force changes nothing, and explains records of others', async () => {
    await apply(policy('a.example'))
    await append([
      record('a.example', 4, { decision: 'deny', reason: 'default_deny', revision: 1 }),
      record('a.example', 3, { decision: 'deny', reason: 'policy_expired' }),
      record('z.example', 2, { break_glass: true }),
      record('y.example', 1, { reason: 'observed' }),
      record('x.example', 5, {
        rules: [{ policy_id: 'acr_1', rule_id: 'acr_1', decision: 'allow', origin: 'grant' }],
      }),
    ])

    const result = await replay({ policies: [] })

    expect(result).toMatchObject({ newly_denied: { count: 0 }, newly_allowed: { count: 0 } })
    expect(result.drift.map(({ cause, count }) => [cause, count])).toEqual([
      ['grant', 5],
      ['revision', 4],
      ['policy_expired', 3],
      ['break_glass', 2],
      ['observed', 1],
    ])
  })

  it('leaves out expired rules and shadow policies on both sides', async () => {
    const expired = { ...ALLOW, resources: ['old.example'], expires_at: '2026-11-01T00:00:00Z' }
    const shadow = { ...policy('tried.example'), name: 'trial', mode: 'shadow' }
    await apply({ name: 'web', rules: [expired] }, shadow)
    await append([
      record('old.example', 2, { decision: 'deny', reason: 'default_deny' }),
      record('tried.example', 3, { decision: 'deny', reason: 'default_deny' }),
    ])

    const before = await replay({ policies: [], days: 1 })
    const after = await replay({ policies: [{ ...shadow, mode: 'enforce' }], days: 1 })

    expect(before).toMatchObject({ unchanged: { count: 5 }, drift: [] })
    expect(after).toMatchObject({
      newly_allowed: { count: 3, groups: [{ target: 'tried.example:443' }] },
      unchanged: { count: 2 },
    })
  })

  it('lists the records that cannot be judged', async () => {
    await apply({
      name: 'files',
      rules: [{ name: 'keys', actions: ['read'], decision: 'deny', resources: ['~/.ssh/**'] }],
    })
    const file = { host: null, port: null, action: 'read' }
    await append([
      record('', 1, { ...file, path: '/home/a/.ssh/id' }),
      record('', 2, { ...file, path: '/etc', path_cut: true }),
      record('', 3, { host: null, port: null, action: null, reason: 'invalid_request' }),
      record('', 5, { ...file, path: '/etc/hosts', decision: 'deny' }),
    ])
    await append([record('a.example', 4)], {
      username: 'removed',
      device_id: freshName('dev'),
    })
    await append([record('a.example', 9)], {
      org: freshName('other'),
      device_id: freshName('dev'),
    })

    const result = await replay({ policies: [], prune: true })

    expect(result.not_judged.map(({ cause, count }) => [cause, count])).toEqual([
      ['not_a_member', 4],
      ['invalid_request', 3],
      ['path_cut', 2],
      ['home_unknown', 1],
    ])
    expect(result).toMatchObject({ recorded: { count: 15 }, unchanged: { count: 5 } })
  })

  it('judges a path that only expired rules and shadow policies with `~` could match', async () => {
    const keys = { name: 'keys', actions: ['read'], decision: 'deny', resources: ['~/.ssh/**'] }
    await apply(
      { name: 'old', rules: [{ ...keys, expires_at: '2026-11-01T00:00:00Z' }] },
      { name: 'trial', mode: 'shadow', rules: [keys] },
    )
    const file = { host: null, port: null, action: 'read', path: '/home/a/.ssh/id' }
    await append([record('', 3, { ...file, decision: 'deny', reason: 'default_deny' })])

    const now = await replay({ policies: [], days: 1 })
    const later = await replay({
      policies: [{ name: 'trial', mode: 'enforce', rules: [keys] }],
      days: 1,
    })

    expect(now).toMatchObject({ unchanged: { count: 3 }, not_judged: [] })
    expect(later).toMatchObject({ not_judged: [{ cause: 'home_unknown', count: 3 }] })
  })

  it('bounds its groups, and counts the others', async () => {
    await apply(policy('**.example'))
    await append(Array.from({ length: 20 }, (_, index) => record(`h${index}.example`, index + 1)))

    const { newly_denied } = await replay({ policies: [], prune: true, groups: 3 })

    expect(newly_denied).toMatchObject({ count: 210, more_groups: 17, more_count: 153 })
    expect(newly_denied.groups.map(({ count }) => count)).toEqual([20, 19, 18])
  })

  it('says that there is no evidence', async () => {
    const result = await replay({ policies: [policy('a.example')] })

    expect(result).toMatchObject({ upload: 'off', recorded: { count: 0, first_at: null } })
  })

  it('of a document that does not compile is a 400 with the place', async () => {
    const answer = await send({ policies: [policy('a.example', 'b.*.example:99999')] })

    expect(answer.statusCode).toBe(400)
    expect(answer.json().error.field).toBe('policies[0].rules[0].resources[1]')
  })

  it.each([
    [{ policies: [], days: 0 }, 'days'],
    [{ policies: [], days: 400 }, 'days'],
    [{ policies: [], from: 'yesterday' }, 'from'],
    [{ policies: [], from: '2026-11-22T00:00:00Z' }, 'from'],
    [{ policies: [], days: 1, from: '2026-11-20T00:00:00Z' }, 'days'],
    [{ policies: [], from: '2024-11-20T00:00:00Z' }, 'from'],
    [{ policies: [], dry_run: true }, 'dry_run'],
    [{ policies: [], other: 1 }, 'other'],
    [{}, 'policies'],
  ])('refuses %j with its field', async (payload, field) => {
    const answer = await send(payload)

    expect([answer.statusCode, answer.json().error.field]).toEqual([400, field])
  })

  it('of a document of 3 MB is refused or answered, while other requests are served', async () => {
    const rule = (index: number) => ({
      ...ALLOW,
      name: `rule ${index}`,
      resources: Array.from({ length: 100 }, (_, place) => `h${index}-${place}.example.com`),
    })
    const policies = Array.from({ length: 12 }, (_, place) => ({
      name: `policy ${place}`,
      rules: Array.from({ length: 100 }, (_each, index) => rule(index)),
    }))

    const big = send({ policies })
    const other = await test.send('GET', `/api/v1/orgs/${org}`, { as: owner.as })

    expect(other.statusCode).toBe(200)
    expect([200, 403]).toContain((await big).statusCode)
  })

  it('is for owners, editors and auditors, and for no others', async () => {
    const statuses: Record<string, number> = {}
    for (const role of ['owner', 'editor', 'auditor', 'member'] as const) {
      const as = await owner.addMember(freshName(role), role, 'correct horse battery')
      statuses[role] = (await send({ policies: [] }, as)).statusCode
    }

    expect(statuses).toEqual({ owner: 200, editor: 200, auditor: 200, member: 403 })
  })
})
