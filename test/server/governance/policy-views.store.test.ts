import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { Principal } from '../../../server/src/identity/principal.ts'
import { bodyOf, createPolicyViews } from '../../../server/src/governance/policy-views.ts'
import { openGovernedApp, type GovernedApp } from '../http/governed-app.ts'

const person = (username: string): Principal => ({
  kind: 'user',
  username,
  tokenId: null,
  rootTokenId: null,
  permissions: ['policies:read'],
})
const view = (bytes: number) => ({ etag: '"1"', body: Buffer.alloc(bytes) })

describe('the policy views', () => {
  it('are found by authorized callers in the generation of the read', () => {
    let generation = 1
    const views = createPolicyViews(() => generation)
    const [ann, bob] = [person('ann'), person('bob')]
    const kept = view(1)
    views.keep({ principal: ann, org: 'acme', policyId: 'p1' }, 1, kept)

    const find = (principal: Principal, org = 'acme', policyId = 'p1') =>
      views.find({ principal, org, policyId })
    expect(find(ann)).toBe(kept)
    expect(find(bob)).toBeNull()
    expect(find(ann, 'rival')).toBeNull()
    expect(find(ann, 'acme', 'p2')).toBeNull()
    generation = 2
    expect(find(ann)).toBeNull()
  })

  it('do not authorize a caller by a later read of another caller', () => {
    let generation = 1
    const views = createPolicyViews(() => generation)
    const [ann, bob] = [person('ann'), person('bob')]
    const call = (principal: Principal) => ({ principal, org: 'acme', policyId: 'p1' })
    views.keep(call(ann), 1, view(1))
    generation = 2
    views.keep(call(bob), 2, view(1))

    expect(views.find(call(ann))).toBeNull()
    expect(views.find(call(bob))).not.toBeNull()
  })

  it('are bounded in bytes', () => {
    const views = createPolicyViews(() => 1, 10_000)
    const principal = person('ann')
    const call = (policyId: string) => ({ principal, org: 'acme', policyId })
    for (const id of ['p1', 'p2', 'p3']) views.keep(call(id), 1, view(4000))

    expect(['p1', 'p2', 'p3'].filter((id) => views.find(call(id)) !== null)).toEqual(['p2', 'p3'])
  })

  it('count two bytes for each character of a text', () => {
    const views = createPolicyViews(() => 1, 10_000)
    const principal = person('ann')
    const call = (policyId: string) => ({ principal, org: 'acme', policyId })
    for (const id of ['p1', 'p2', 'p3'])
      views.keep(call(id), 1, { etag: '"1"', body: bodyOf('x'.repeat(2000)) })

    expect(['p1', 'p2', 'p3'].filter((id) => views.find(call(id)) !== null)).toEqual(['p2', 'p3'])
  })
})

describe('a cached policy', () => {
  const POLICIES = '/v2/orgs/acme/governance/policies'
  let app: GovernedApp
  let url: string
  let authorization: string

  beforeAll(async () => {
    app = await openGovernedApp()
  })
  afterAll(() => app.close())
  beforeEach(async () => {
    await app.clearPolicies()
    const created = await app.send({ method: 'POST', url: POLICIES, payload: { name: 'web' } })
    url = `${POLICIES}/${created.json<{ id: string }>().id}`
    authorization = `Bearer ${await app.tokenFor('ed')}`
  })

  it.each([
    ['short', 1],
    ['long', 1500],
  ])('has the right length in bytes for non-ASCII texts when it is %s', async (_, count) => {
    const resources = Array.from({ length: count }, (_each, n) => `/home/dev/données-${n}/文書`)
    const rule = { name: 'Ω', actions: ['read'], decision: 'allow', resources }
    await app.send({ method: 'POST', url: `${url}/rules`, payload: rule })

    for (const attempt of ['read', 'from memory']) {
      const answer = await app.send({ method: 'GET', url })

      expect(answer.statusCode, attempt).toBe(200)
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
      expect(answer.headers['content-length']).toBe(String(answer.rawPayload.length))
      expect(answer.json()).toMatchObject({ allowlist_v0: { rules: [rule] } })
    }
  })

  const get = (headers: Record<string, string> = {}, target = url) =>
    app.app.inject({ url: target, headers: { authorization, ...headers } })

  it('has the same bytes and headers as an uncached one', async () => {
    const first = await get()
    const second = await get()

    expect(first.statusCode).toBe(200)
    expect(second.rawPayload).toEqual(first.rawPayload)
    const headersOf = ({ headers }: typeof first) => ({ ...headers, 'x-request-id': '', date: '' })
    expect(headersOf(second)).toEqual(headersOf(first))
    expect(first.headers['content-type']).toBe('application/json; charset=utf-8')
  })

  it('is checked for query and preconditions as well', async () => {
    const etag = String((await get()).headers.etag)

    expect((await get({ 'if-none-match': etag })).statusCode).toBe(304)
    expect((await get({ 'if-none-match': '"0"' })).statusCode).toBe(200)
    expect((await get({ 'if-match': '"0"' })).statusCode).toBe(412)
    expect((await get({ 'if-none-match': 'bare' })).statusCode).toBe(400)
    expect((await get({}, `${url}?x=1`)).statusCode).toBe(400)
  })

  it('has a HEAD of the same length', async () => {
    const { headers } = await get()

    const head = await app.app.inject({ method: 'HEAD', url, headers: { authorization } })

    expect(head.statusCode).toBe(200)
    expect(head.headers['content-length']).toBe(headers['content-length'])
    expect(head.rawPayload).toHaveLength(0)
  })

  it('is replaced after a change', async () => {
    const before = await get()
    await app.send({ method: 'PATCH', url, payload: { name: 'web 2' } })

    const after = await get()

    expect(after.headers.etag).not.toBe(before.headers.etag)
    expect(after.json()).toMatchObject({ name: 'web 2' })
  })

  it('is refused at the next request after a loss of the permission', async () => {
    const ed = { org: 'acme', username: 'ed', role: 'editor' as const }
    expect((await get()).statusCode).toBe(200)

    await app.store.transaction((writer) => writer.memberships.updateRole('acme', 'ed', 'member'))
    expect((await get()).statusCode).toBe(403)
    await app.store.transaction((writer) => writer.memberships.updateRole('acme', 'ed', 'editor'))
    expect((await get()).statusCode).toBe(200)
    onTestFinished(() => app.store.transaction((writer) => writer.memberships.insert(ed)))
    await app.store.transaction((writer) => writer.memberships.delete('acme', 'ed'))
    expect((await get()).statusCode).toBe(404)
  })

  it('is not visible to other callers', async () => {
    await get()

    for (const [user, status] of [
      ['mia', 403],
      ['rita', 404],
    ] as const) {
      const token = `Bearer ${await app.tokenFor(user)}`
      expect((await get({ authorization: token })).statusCode, user).toBe(status)
    }
    const elsewhere = `Bearer ${await app.tokenFor('rita')}`
    const target = url.replace('acme', 'rival')
    expect((await get({ authorization: elsewhere }, target)).statusCode).toBe(404)
  })

  it('is 401 once the token or session has ended', async () => {
    const token = `Bearer ${await app.tokenFor('ed', ['policies:read'])}`
    expect((await get({ authorization: token })).statusCode).toBe(200)
    expect((await get({ authorization: token })).statusCode).toBe(200)

    app.advance(899_000)
    expect((await get({ authorization: token })).statusCode).toBe(200)
    app.advance(2000)
    expect((await get({ authorization: token })).statusCode).toBe(401)
  })
})
