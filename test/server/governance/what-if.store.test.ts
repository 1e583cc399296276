import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openGovernedApp, START, type GovernedApp } from '../http/governed-app.ts'
import { createWorkBudget } from '../../../server/src/work/work-budget.ts'
import { createPolicy, createRule } from './policies.ts'

const CHECK = '/api/v1/orgs/acme/check'
const EFFECTIVE = '/api/v1/orgs/acme/effective-policy'
const LITTLE = {
  organization: { burstMs: 10_000, perSecondMs: 1 },
  caller: { burstMs: 500, perSecondMs: 1 },
  reservedMs: 0,
}
const NEW_TEAM = { id: '99999999-9999-4999-8999-999999999999', name: 'newcomers' }
let governed: GovernedApp
let everybody: string
let backend: string

const request = { action: 'connect:tcp', host: 'db.example.com', port: 5432 }

beforeAll(async () => {
  governed = await openGovernedApp()
  everybody = (await createPolicy(governed, 'everybody')).id
  await createRule(governed, everybody, { resources: ['example.com'] })
  backend = (await createPolicy(governed, 'backend', { teams: [governed.team] })).id
  await createRule(governed, backend, { resources: ['db.example.com:5432'] })
})
afterAll(() => governed.close())

function check(payload: object, as = 'olga') {
  return governed.send({ as, method: 'POST', url: CHECK, payload })
}

function effective(query: Record<string, string>, as = 'olga') {
  return governed.send({ as, url: EFFECTIVE, query })
}

/** Stores `count` policies with 40,000 short names each. */
async function fill({ store }: GovernedApp, count: number): Promise<void> {
  const at = { org: 'acme', created_at: START.toISOString(), updated_at: START.toISOString() }
  const actions = ['connect:tcp' as const]
  const resources = Array.from({ length: 40_000 }, (_, index) => `h${index}.x`)
  await store.transaction(async ({ policies }) => {
    for (let number = 0; number < count; number += 1) {
      const id = `pol_${String(number).padStart(28, '0')}`
      await policies.insert({ ...at, id, name: id, teams: [] })
      const rule = { id: `rule_${id.slice(4)}`, name: 'r', actions, decision: 'allow' as const }
      await policies.insertRule({ ...at, policyId: id }, { ...rule, resources })
    }
  })
}

describe('check', () => {
  it('answers with the decision for a user, by their teams', async () => {
    const mia = await check({ user: 'mia', request })
    const ed = await check({ user: 'ed', request })

    expect(mia.statusCode).toBe(200)
    expect(mia.json()).toMatchObject({
      decision: 'allow',
      reason: 'rule',
      rules: [{ policy_id: backend, resource: 'db.example.com:5432' }],
      address_required: true,
      stale: false,
      revision: expect.any(Number),
    })
    expect(ed.json()).toMatchObject({ decision: 'deny', reason: 'default_deny' })
  })

  it('answers with the decision for teams, and for a machine without a user', async () => {
    const team = await check({ teams: [governed.team.toUpperCase()], request })
    const nobody = await check({ request })

    expect(team.json().decision).toBe('allow')
    expect(nobody.json().decision).toBe('deny')
  })

  it('answers with the organization’s revision, even when its policies are unchanged', async () => {
    const before = await check({ user: 'mia', request })
    await governed.store.transaction((writer) => writer.teams.insert({ ...NEW_TEAM, org: 'acme' }))
    const after = await check({ user: 'mia', request })

    expect(after.json()).toEqual({ ...before.json(), revision: before.json().revision + 1 })
  })

  it('denies a meaningless request with 200', async () => {
    const response = await check({ request: { action: 'fly', host: null } })

    expect(response.statusCode).toBe(200)
    expect(response.json()).toMatchObject({ decision: 'deny', reason: 'invalid_request' })
  })

  it('lets members ask only about themselves', async () => {
    expect((await check({ user: 'mia', request }, 'mia')).json().decision).toBe('allow')
    for (const body of [{ user: 'ed', request }, { user: 'ghost', request }, { request }])
      expect((await check(body, 'mia')).statusCode).toBe(403)
    expect((await check({ user: 'mia', request }, 'audrey')).statusCode).toBe(200)
    expect((await check({ user: 'mia', request }, 'rita')).statusCode).toBe(404)
  })

  it('refuses a member of a large organization without reading its policies again', async () => {
    const large = await openGovernedApp()
    try {
      await fill(large, 8)
      const payload = { user: 'mia', request }
      const ask = () => large.send({ as: 'mia', method: 'POST', url: CHECK, payload })
      const first = await ask()
      const reads = vi.spyOn(large.store, 'read')
      const second = await ask()

      for (const { statusCode, body } of [first, second])
        expect([statusCode, JSON.parse(body).error.code]).toEqual([403, 'limit_exceeded'])
      // At most three reads, before the body and for the question; not one for each policy.
      expect(reads.mock.calls.length).toBeLessThanOrEqual(3)
    } finally {
      await large.close()
    }
  })

  it.each([
    [{ user: 'mia' }, 400, 'request'],
    [{ request: null }, 400, 'request'],
    [{ request: 'x' }, 400, 'request'],
    [{ user: 'mia', teams: [], request }, 400, undefined],
    [{ user: 'mia', request, more: 1 }, 400, 'more'],
    [{ teams: ['x'], request }, 400, 'teams[0]'],
    [{ user: 'ghost', request }, 404, undefined],
  ])('refuses %j', async (body, status, field) => {
    const response = await check(body)
    expect(response.statusCode).toBe(status)
    expect(response.json().error.field).toBe(field)
  })

  it('refuses a team of another organization', async () => {
    const response = await check({ teams: [governed.rivalTeam], request })
    expect(response.statusCode).toBe(400)
  })
})

describe('a caller with an exhausted budget', () => {
  it('is refused new work, and served cached results', async () => {
    const budget = createWorkBudget({ limits: LITTLE })
    const spent = budget.begin({ org: 'acme', caller: 'user:audrey', isWriter: false })
    const poor = await openGovernedApp({ budget })
    const ask = (url: string, payload?: object, as = 'audrey') =>
      poor.send({ as, url, ...(payload && { method: 'POST', payload }) })
    try {
      await createPolicy(poor, 'everybody')
      const known = await ask(CHECK, { request })
      spent.charge(2000)

      expect([known.statusCode, (await ask(CHECK, { request })).statusCode]).toEqual([200, 200])
      await createPolicy(poor, 'another')
      for (const refused of [
        await ask(CHECK, { request }),
        await ask(EFFECTIVE),
        await ask('/api/v1/orgs/acme/export'),
        await ask('/api/v1/orgs/acme/apply', { policies: [], dry_run: true }),
      ]) {
        expect([refused.statusCode, refused.json().error.code]).toEqual([429, 'limit_exceeded'])
        expect(Number(refused.headers['retry-after'])).toBeGreaterThan(1000)
      }
      expect((await ask(CHECK, { request }, 'olga')).statusCode).toBe(200)
    } finally {
      await poor.close()
    }
  })
})

describe('effective-policy', () => {
  it('lists the policies of the user, with their rules', async () => {
    const mia = (await effective({ user: 'mia' })).json()
    const ed = (await effective({ user: 'ed' }, 'audrey')).json()

    expect(mia.policies.map(({ id }: { id: string }) => id).toSorted()).toEqual(
      [everybody, backend].toSorted(),
    )
    expect(ed.policies).toMatchObject([{ id: everybody, allowlist_v0: { domain: 'network' } }])
    expect(mia.revision).toBe(ed.revision)
  })

  it('shows members only their own policies', async () => {
    expect((await effective({ user: 'mia' }, 'mia')).statusCode).toBe(200)
    expect((await effective({ user: 'ed' }, 'mia')).statusCode).toBe(403)
    expect((await effective({}, 'mia')).statusCode).toBe(403)
  })

  it('lists the policies of a machine without a user', async () => {
    expect((await effective({})).json().policies).toMatchObject([{ id: everybody }])
  })

  it('refuses unknown users and invalid parameters', async () => {
    expect((await effective({ user: 'ghost' })).statusCode).toBe(404)
    expect((await effective({ user: '' })).statusCode).toBe(400)
    expect((await effective({ person: 'mia' })).statusCode).toBe(400)
  })

  it('needs the entitlement', async () => {
    const response = await governed.send({ url: '/api/v1/orgs/poor/effective-policy' })
    expect(response.statusCode).toBe(403)
  })
})
