import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createWorkBudget } from '../../../../server/src/work/work-budget.ts'
import { openGovernedApp, type GovernedApp } from '../../http/governed-app.ts'
import { createPolicy, createRule, getPolicy } from '../policies.ts'
import { apply, exported, post, rule, stateOf } from './documents.ts'

let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp({
    limits: { maxPolicies: 3, maxRules: 4, maxPolicyBytes: 2000 },
  })
})
beforeEach(() => governed.clearPolicies())
afterAll(() => governed.close())

describe('applying a document', () => {
  it('creates new policies with their rules in order', async () => {
    const rules = [rule('z', 'z.example'), rule('a', 'a.example', 'b.example:443')]

    const answer = await apply(governed, {
      policies: [{ name: 'web', scope: { teams: ['backend'] }, rules }],
    })

    expect(answer).toMatchObject({ dry_run: false, unchanged: 0, unmanaged: [] })
    expect(answer.changes).toEqual([
      {
        change: 'created',
        name: 'web',
        id: expect.stringMatching(/^pol_/),
        new: { name: 'web', scope: { teams: ['backend'] }, rules },
      },
    ])
    const policy = await getPolicy(governed, answer.changes[0]?.id ?? '')
    expect(policy.scope).toEqual({ teams: [governed.team] })
    expect(policy.allowlist_v0?.rules).toEqual(
      rules.map((given) => ({ id: expect.stringMatching(/^rule_/), ...given })),
    )
  })

  it('does not write without a difference', async () => {
    const document = { policies: [{ name: 'web', rules: [rule('a', 'a.example')] }] }
    await apply(governed, document)
    const before = await stateOf(governed)
    governed.advance(60_000)

    const answer = await apply(governed, document)

    expect(answer).toMatchObject({ changes: [], unchanged: 1 })
    expect(await stateOf(governed)).toEqual(before)
  })

  it('keeps ids where names stay, and leaves other policies untouched', async () => {
    const web = await createPolicy(governed, 'web')
    const kept = await createRule(governed, web.id, { name: 'kept' })
    const changed = await createRule(governed, web.id, { name: 'changed' })
    await createRule(governed, web.id, { name: 'gone' })
    const other = await createPolicy(governed, 'other', { teams: [governed.team] })
    governed.advance(60_000)

    const answer = await apply(governed, {
      policies: [
        {
          name: 'web',
          rules: [
            rule('new', 'n.example'),
            rule('changed', 'c.example'),
            rule('kept', 'example.com:443'),
          ],
        },
        { name: 'other', scope: { teams: [governed.team.toUpperCase()] }, rules: [] },
      ],
    })

    expect(answer).toMatchObject({ unchanged: 1 })
    expect(answer.changes).toMatchObject([{ change: 'updated', name: 'web', id: web.id }])
    const now = await getPolicy(governed, web.id)
    expect(now.created_at).toBe(web.created_at)
    expect(now.updated_at > web.updated_at).toBe(true)
    expect(now.allowlist_v0?.rules.map(({ name, id }) => [name, id])).toEqual([
      ['new', expect.stringMatching(/^rule_/)],
      ['changed', changed.id],
      ['kept', kept.id],
    ])
    expect(await getPolicy(governed, other.id)).toEqual(other)
  })

  it('reorders rules', async () => {
    const rules = [rule('a', 'a.example'), rule('b', 'b.example'), rule('c', 'c.example')]
    await apply(governed, { policies: [{ name: 'web', rules }] })

    const answer = await apply(governed, { policies: [{ name: 'web', rules: rules.toReversed() }] })

    expect(answer.changes).toHaveLength(1)
    expect((await exported(governed)).policies[0]?.rules).toEqual(rules.toReversed())
  })

  it('keeps policies that it does not name, and deletes them only with `prune`', async () => {
    await apply(governed, { policies: ['b', 'a'].map((name) => ({ name, rules: [] })) })

    const kept = await apply(governed, { policies: [] })
    expect(kept).toMatchObject({ changes: [], unmanaged: ['a', 'b'] })
    const pruned = await apply(governed, { policies: [{ name: 'b', rules: [] }], prune: true })

    expect(pruned).toMatchObject({
      changes: [{ change: 'deleted', name: 'a', old: { name: 'a', scope: {}, rules: [] } }],
      unchanged: 1,
      unmanaged: [],
    })
    expect((await exported(governed)).policies.map(({ name }) => name)).toEqual(['b'])
  })

  it('records an event for each changed policy and rule, and no other', async () => {
    const kinds = async () => {
      const page = { after: 0, through: Number.MAX_SAFE_INTEGER, limit: 1_000 }
      const events = await governed.store.read((reader) => reader.events.list('acme', page))
      return events.map(({ kind, actor }) => `${actor} ${kind}`)
    }
    const document = { policies: [{ name: 'web', rules: [rule('a', 'a.example')] }] }
    const before = (await kinds()).length

    await apply(governed, { ...document, dry_run: true })
    await apply(governed, document)
    await apply(governed, document)

    expect((await kinds()).slice(before)).toEqual([
      'user:olga policy.created',
      'user:olga rule.created',
    ])
  })

  it('counts deletions before creations', async () => {
    const named = (...names: string[]) => names.map((name) => ({ name, rules: [] }))
    await apply(governed, { policies: named('a', 'b', 'c') })

    const full = await post(governed, { policies: named('d') })
    const swapped = await post(governed, { policies: named('d', 'e', 'f'), prune: true })

    expect(full.json().error.code).toBe('limit_exceeded')
    expect(swapped.statusCode).toBe(200)
    expect((await exported(governed)).policies).toHaveLength(3)
  })

  it('lets a policy beyond a lowered limit shrink', async () => {
    const rules = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => rule(name, `${name}.example`))
    await governed.store.transaction(async (writer) => {
      const head = { id: 'pol_old', org: 'acme', name: 'old', teams: [] }
      const timestamp = '2026-01-01T00:00:00Z'
      await writer.policies.insert({ ...head, created_at: timestamp, updated_at: timestamp })
      await writer.policies.replaceRules(
        { org: 'acme', policyId: 'pol_old', updated_at: timestamp },
        rules.map((given) => ({ id: `rule_${given.name}`, ...given })),
      )
    })
    const put = (count: number) =>
      post(governed, { policies: [{ name: 'old', rules: rules.slice(0, count) }] })

    expect((await put(5)).statusCode).toBe(200)
    expect((await put(6)).json().error).toMatchObject({ code: 'limit_exceeded' })
  })

  it('opens a policy of teams to the whole organization only with an explicit scope', async () => {
    await createPolicy(governed, 'team only', { teams: [governed.team] })
    const before = await stateOf(governed)

    const silent = await post(governed, { policies: [{ name: 'team only', rules: [] }] })

    expect(silent.statusCode).toBe(400)
    expect(silent.json().error).toMatchObject({ field: 'policies[0].scope' })
    expect(silent.json().error.message).toContain('write `scope: {"teams": []}`')
    expect(await stateOf(governed)).toEqual(before)
    for (const scope of [{}, { teams: [] }]) {
      await apply(governed, {
        policies: [{ name: 'team only', scope: { teams: ['backend'] }, rules: [] }],
      })
      await apply(governed, { policies: [{ name: 'team only', scope, rules: [] }] })
      expect((await exported(governed)).policies[0]?.scope).toEqual({})
    }
  })

  it('treats the name and the UUID of a team as the same team', async () => {
    await apply(governed, {
      policies: [{ name: 'x', scope: { teams: [governed.team, 'backend'] }, rules: [] }],
    })

    expect((await exported(governed)).policies[0]?.scope).toEqual({ teams: ['backend'] })
  })

  it('does not resolve a UUID to a team that has it as its name', async () => {
    const impostor = '6c0b7c0a-5f0e-4d7e-9a53-0b6d1f1f8a11'
    await governed.store.transaction((writer) =>
      writer.teams.insert({ id: impostor, org: 'acme', name: governed.team }),
    )

    await apply(governed, {
      policies: [
        { name: 'x', scope: { teams: [governed.team] }, rules: [] },
        { name: 'y', scope: { teams: [impostor] }, rules: [] },
      ],
    })

    const { policies } = await exported(governed)
    expect(policies.map(({ scope }) => scope)).toEqual([
      { teams: ['backend'] },
      { teams: [impostor] },
    ])
  })
})

describe('a dry run', () => {
  it('answers with the changes without writing them', async () => {
    await apply(governed, { policies: [{ name: 'old', rules: [rule('a', 'a.example')] }] })
    const before = await stateOf(governed)
    const request = {
      policies: [{ name: 'new', rules: [rule('b', 'b.example')] }],
      prune: true,
    }

    const planned = await apply(governed, { ...request, dry_run: true })
    expect(await stateOf(governed)).toEqual(before)
    const done = await apply(governed, request)

    expect(planned).toMatchObject({ dry_run: true, revision: expect.any(Number) })
    const withoutIds = done.changes.map(({ id: _id, ...rest }) => rest)
    expect(planned.changes.map(({ id: _id, ...rest }) => rest)).toEqual(withoutIds)
    expect(planned.changes.map(({ id }) => id === undefined)).toEqual([false, true])
    expect(done.revision).toBeGreaterThan(planned.revision)
  })

  it('needs only `policies:read`', async () => {
    const request = { policies: [], dry_run: true }
    const send = (as: string, payload: object) =>
      governed.send({ as, method: 'POST', url: '/api/v1/orgs/acme/apply', payload })

    expect((await send('audrey', request)).statusCode).toBe(200)
    expect((await send('mia', request)).statusCode).toBe(403)
    for (const dry_run of [false, 1, 'true', null])
      expect((await send('audrey', { policies: [], dry_run })).statusCode).toBe(403)
    const broken = await governed.send({
      as: 'audrey',
      method: 'POST',
      url: '/api/v1/orgs/acme/apply',
      payload: '{"dry_run":true,"dry_run":true}',
      headers: { 'content-type': 'application/json' },
    })
    expect(broken.statusCode).toBe(403)
  })

  it('lets other requests run between any two policies', async () => {
    const plenty = { burstMs: 1e9, perSecondMs: 1e6 }
    const limits = { organization: plenty, caller: plenty, reservedMs: 0 }
    let nowMs = 0
    // Each step appears to take three milliseconds, which end a turn.
    const budget = createWorkBudget({ limits, clockMs: () => (nowMs += 3) })
    const larger = await openGovernedApp({ budget })
    const names = Array.from({ length: 50 }, (_, index) => `p${index}`)
    const policies = names.map((name) => ({ name, rules: [rule('a', 'a.example')] }))
    let turns = 0
    let isDone = false
    const count = (): void => {
      turns += 1
      if (!isDone) setImmediate(count)
    }

    setImmediate(count)
    await apply(larger, { policies, dry_run: true })
    isDone = true
    await larger.close()

    // Each policy is read, planned, compiled, measured and formatted.
    expect(turns).toBeGreaterThanOrEqual(5 * names.length)
  })

  it('is refused for the same faults', async () => {
    const request = { policies: [{ name: 'x', rules: [rule('a', 'a*.example')] }] }

    const planned = (await post(governed, { ...request, dry_run: true })).json().error
    const real = (await post(governed, request)).json().error

    expect({ ...planned, request_id: '' }).toEqual({ ...real, request_id: '' })
  })
})

describe('If-Match', () => {
  it('must have the revision that the document was planned for', async () => {
    const { headers } = await governed.send({ url: '/api/v1/orgs/acme/export' })
    const etag = headers.etag ?? ''
    const request = { policies: [{ name: 'web', rules: [] }] }

    const first = await post(governed, request, { 'if-match': etag })
    const again = await post(governed, request, { 'if-match': etag })
    const weak = await post(governed, request, { 'if-match': `W/${String(first.headers.etag)}` })

    expect(first.statusCode).toBe(200)
    expect(again.statusCode).toBe(412)
    expect(again.json().error.message).toContain('the organization does not match `If-Match`')
    expect(weak.statusCode).toBe(412)
    const current = await post(governed, request, { 'if-match': String(first.headers.etag) })
    expect(current.json()).toMatchObject({ changes: [], unchanged: 1 })
  })

  it('accepts one of many concurrent documents, and none planned before a write', async () => {
    const policy = await createPolicy(governed, 'web')
    const etag = String((await governed.send({ url: '/api/v1/orgs/acme/export' })).headers.etag)
    const race = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        post(
          governed,
          { policies: [{ name: 'web', rules: [rule(`racer ${index}`, 'a.example')] }] },
          { 'if-match': etag },
        ),
      ),
    )

    expect(race.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b)).toEqual([
      200, 412, 412, 412, 412, 412, 412, 412,
    ])
    const winner = race.findIndex(({ statusCode }) => statusCode === 200)
    const { policies } = await exported(governed)
    expect(policies[0]?.rules).toEqual([rule(`racer ${winner}`, 'a.example')])

    const planned = String(race[winner]?.headers.etag)
    await createRule(governed, policy.id, { name: 'single' })
    const before = await stateOf(governed)
    const late = await post(governed, { policies: [], prune: true }, { 'if-match': planned })
    expect(late.statusCode).toBe(412)
    expect(await stateOf(governed)).toEqual(before)
  })
})

describe('a document with concurrent writers', () => {
  /** Inserts another write before the transaction of a document, `times` times. */
  function disturb(times: number): void {
    const { store } = governed
    const { transaction } = store
    let left = times
    onTestFinished(() => void (store.transaction = transaction))
    store.transaction = async (work) => {
      left -= 1
      if (left >= 0)
        await transaction((writer) => writer.teams.insert({ org: 'acme', ...newTeam(left) }))
      return transaction(work)
    }
  }
  const newTeam = (number: number) => ({ id: randomUUID(), name: `disturbing ${number}` })

  it('is validated again, and written once the organization stops changing', async () => {
    disturb(3)

    const done = await apply(governed, { policies: [{ name: 'web', rules: [] }] })

    expect(done.changes).toMatchObject([{ change: 'created', name: 'web' }])
  })

  it('is 409 without an effect when the organization changes at every attempt', async () => {
    disturb(1000)

    const refused = await post(governed, { policies: [{ name: 'web', rules: [] }] })

    expect([refused.statusCode, refused.json().error.code]).toEqual([409, 'conflict'])
    expect(refused.json().error.message).toContain('send it again')
    expect((await exported(governed)).policies).toEqual([])
  })
})

describe('Idempotency-Key', () => {
  it('replays the first answer, and answers 409 to another body', async () => {
    const headers = { 'idempotency-key': 'once' }
    const request = { policies: [{ name: 'web', rules: [] }] }

    const first = await post(governed, request, headers)
    const again = await post(governed, request, headers)
    const other = await post(governed, { policies: [] }, headers)

    expect(again.headers['idempotency-replayed']).toBe('true')
    expect(again.payload).toBe(first.payload)
    expect(again.headers).toMatchObject({
      'content-type': first.headers['content-type'],
      etag: first.headers.etag,
    })
    expect(other.statusCode).toBe(409)
  })
})
