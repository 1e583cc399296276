import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerOnce } from '../../../../server/src/identity/idempotency/answer-once.ts'
import type { KeptAnswers } from '../../../../server/src/store/aggregates/credentials/idempotency.ts'
import { openGovernedApp, type GovernedApp } from '../../http/governed-app.ts'
import { createPolicy, getPolicy, POLICIES, RULE } from '../../governance/policies.ts'

const DAY_MS = 24 * 60 * 60 * 1000
let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp()
})
afterAll(() => governed.close())

function post(key: string, payload: object, options: { as?: string; url?: string } = {}) {
  const { as = 'olga', url = POLICIES } = options
  return governed.send({ as, method: 'POST', url, payload, headers: { 'idempotency-key': key } })
}

describe('an idempotency key', () => {
  it('returns the first answer again and creates nothing', async () => {
    const first = await post('k1', { name: 'once' })
    const again = await post('k1', { name: 'once' })

    expect(first.statusCode).toBe(201)
    expect(first.headers).not.toHaveProperty('idempotency-replayed')
    expect(again.statusCode).toBe(201)
    expect(again.json()).toEqual(first.json())
    expect(again.headers.etag).toBe(first.headers.etag)
    expect(again.headers['idempotency-replayed']).toBe('true')
  })

  it('creates one resource for concurrent requests', async () => {
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => post('racing', { name: 'raced once' })),
    )

    expect(responses.map(({ statusCode }) => statusCode)).toEqual(Array(8).fill(201))
    expect(new Set(responses.map((response) => response.json().id)).size).toBe(1)
    const replayed = responses.filter(({ headers }) => headers['idempotency-replayed'] === 'true')
    expect(replayed).toHaveLength(7)
  })

  it('refuses a different body', async () => {
    await post('k2', { name: 'body' })

    const other = await post('k2', { name: 'other body' })
    const broken = await post('k2', { name: null })

    expect(other.statusCode).toBe(409)
    expect(other.json().error.code).toBe('conflict')
    expect(broken.statusCode).toBe(400)
  })

  it('is scoped to caller and path', async () => {
    const { id: one } = await createPolicy(governed, 'path one')
    const { id: two } = await createPolicy(governed, 'path two')

    const responses = [
      await post('k3', RULE, { url: `${POLICIES}/${one}/rules` }),
      await post('k3', RULE, { url: `${POLICIES}/${two}/rules` }),
      await post('k3', { ...RULE, name: 'of ed' }, { url: `${POLICIES}/${one}/rules`, as: 'ed' }),
    ]

    expect(responses.map(({ statusCode }) => statusCode)).toEqual([201, 201, 201])
  })

  it('does not keep a refusal', async () => {
    await createPolicy(governed, 'in the way')
    const refused = await post('k4', { name: 'in the way' })
    const list = await governed.send({ url: POLICIES })
    const { id } = list.json().data.find(({ name }: { name: string }) => name === 'in the way')
    await governed.send({ method: 'DELETE', url: `${POLICIES}/${id}` })

    const accepted = await post('k4', { name: 'in the way' })

    expect(refused.statusCode).toBe(409)
    expect(accepted.statusCode).toBe(201)
    expect(accepted.headers).not.toHaveProperty('idempotency-replayed')
  })

  it('replays a rule even if `If-Match` has become stale', async () => {
    const { id } = await createPolicy(governed, 'replayed rule')
    const etag = (await governed.send({ url: `${POLICIES}/${id}` })).headers.etag ?? ''
    const send = () =>
      governed.send({
        method: 'POST',
        url: `${POLICIES}/${id}/rules`,
        payload: RULE,
        headers: { 'idempotency-key': 'k5', 'if-match': etag },
      })

    const first = await send()
    const again = await send()

    expect(again.statusCode).toBe(201)
    expect(again.json()).toEqual(first.json())
    expect((await getPolicy(governed, id)).allowlist_v0?.rules).toHaveLength(1)
  })

  it('still requires the permission', async () => {
    await post('k6', { name: 'permission' })
    const response = await post('k6', { name: 'permission' }, { as: 'audrey' })
    expect(response.statusCode).toBe(403)
  })

  it('expires after 24 hours', async () => {
    await post('k7', { name: 'yesterday' })
    governed.advance(DAY_MS + 1)

    const response = await post('k7', { name: 'yesterday' })

    expect(response.statusCode).toBe(409)
    expect(response.json().error.message).toContain('policy name')
  })

  it('does not delete expired answers of others with the request', async () => {
    await post('k8', { name: 'of yesterday' })
    const kept = () => governed.store.read((reader) => reader.idempotency.keptFor('user:olga'))
    const before = await kept()
    governed.advance(DAY_MS + 1)

    await post('k9', { name: 'of today' })

    expect(await kept()).toMatchObject({ answers: before.answers + 1 })
  })

  /** A caller for whom `kept` is stored already, and the keys whose requests took effect. */
  function askerWith(kept: KeptAnswers) {
    const acted: (string | null)[] = []
    const answer = { status: 201, headers: {}, body: {} }
    const ask = (scope: string | null) =>
      governed.store.transaction(async (writer) => {
        const idempotency = { ...writer.idempotency, keptFor: async () => kept }
        const request = { scope, caller: 'user:ed', bodyHash: '', hasSecret: false }
        return answerOnce({ ...writer, idempotency }, request, new Date(), {
          validate: async () => undefined,
          act: async () => {
            acted.push(scope)
            return answer
          },
        })
      })
    return { ask, acted, answer }
  }

  it.each([
    ['answers', { answers: 50_000, bytes: 0 }],
    ['bytes', { answers: 1, bytes: 64 * 2 ** 20 }],
  ])('is refused when the kept %s of its caller reach the limit', async (title, kept) => {
    await askerWith({ answers: 0, bytes: 0 }).ask(`earlier ${title}`)
    const { ask, acted, answer } = askerWith(kept)

    await expect(ask(`one more of ${title}`)).rejects.toMatchObject({
      status: 403,
      code: 'limit_exceeded',
      message: expect.stringContaining('leave the header out, or wait'),
    })
    // A kept answer is still replayed, and a request without a key is still admitted.
    const again = await ask(`earlier ${title}`)
    expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true' })
    expect(await ask(null)).toEqual(answer)
    expect(acted).toEqual([null])
  })

  it('is accepted below the limit', async () => {
    const { ask, answer } = askerWith({ answers: 49_999, bytes: 64 * 2 ** 20 - 1 })

    expect(await ask('the last')).toEqual(answer)
  })

  it.each(['', ' ', 'a b', 'x'.repeat(256)])('must be visible ASCII: %j', async (key) => {
    const response = await post(key, { name: 'bad key' })
    expect(response.statusCode).toBe(400)
    expect(response.json().error.field).toBe('Idempotency-Key')
  })
})
