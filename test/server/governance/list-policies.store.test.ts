import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGovernedApp, type GovernedApp } from '../http/governed-app.ts'
import { createPolicy, createRule, POLICIES } from './policies.ts'

let governed: GovernedApp
const ids: string[] = []

beforeAll(async () => {
  governed = await openGovernedApp({ limits: { maxPolicies: 200 } })
  for (let index = 0; index < 105; index += 1) {
    const { id } = await createPolicy(governed, `policy ${String(index)}`)
    ids.push(id)
  }
  ids.sort()
})
afterAll(() => governed.close())

async function list(query: Record<string, string> | string = {}) {
  const response = await governed.send({ url: POLICIES, query })
  return { status: response.statusCode, body: response.json() }
}

describe('listing policies', () => {
  it('returns 100 summaries by ascending id, and then the rest', async () => {
    const first = await list()
    const second = await list({ page_token: first.body.next_page_token })

    expect(first.body.data).toHaveLength(100)
    expect(second.body.next_page_token).toBeNull()
    const listed = [...first.body.data, ...second.body.data].map(({ id }) => id)
    expect(listed).toEqual(ids)
  })

  it('shows only the type of a rule set', async () => {
    const [id] = ids
    await createRule(governed, id ?? '')

    const { body } = await list({ page_size: '1' })

    expect(body.data).toEqual([
      {
        id,
        name: expect.any(String),
        org: 'acme',
        scope: {},
        type: 'allowlist_v0',
        created_at: '2026-11-21T08:00:00Z',
        updated_at: '2026-11-21T08:00:00Z',
      },
    ])
  })

  it.each([
    ['0', 100],
    ['1', 1],
    ['100', 100],
    ['101', 100],
    ['99999999999999999999999', 100],
  ])('page_size %s returns %i entries', async (page_size, count) => {
    expect((await list({ page_size })).body.data).toHaveLength(count)
  })

  it('has no gap and no repetition at any page size', async () => {
    for (const page_size of ['7', '35', '105']) {
      const seen: string[] = []
      let query: Record<string, string> = { page_size }
      for (let token: string | null = ''; token !== null;) {
        const { body } = await list(query)
        seen.push(...body.data.map(({ id }: { id: string }) => id))
        token = body.next_page_token
        query = { page_size, page_token: token ?? '' }
      }
      expect(seen).toEqual(ids)
    }
  })

  it('ends with null when the last page is full', async () => {
    const { body } = await list({ page_size: '35' })
    const second = await list({ page_size: '35', page_token: body.next_page_token })
    const third = await list({ page_size: '35', page_token: second.body.next_page_token })

    expect(third.body.data).toHaveLength(35)
    expect(third.body.next_page_token).toBeNull()
  })

  it('returns an empty page for an organization without policies', async () => {
    const response = await governed.send({
      as: 'rita',
      url: '/v2/orgs/rival/governance/policies',
    })
    expect(response.json()).toEqual({ data: [], next_page_token: null })
  })

  it.each([
    ['page_size=-1', 'page_size'],
    ['page_size=1.5', 'page_size'],
    ['page_size=ten', 'page_size'],
    ['page_size=', 'page_size'],
    ['page_size', 'page_size'],
    ['page_size=1&page_size=1', 'page_size'],
    ['page_token=', 'page_token'],
    ['page_token=AAAA', 'page_token'],
    ['page_token=%FF', 'page_token'],
    ['unknown=1', 'unknown'],
    ['__proto__=1', '__proto__'],
  ])('refuses ?%s', async (query, field) => {
    const { status, body } = await list(query)
    expect(status).toBe(400)
    expect(body.error).toMatchObject({ code: 'invalid_argument', field })
  })

  it('refuses a page token of another organization, and an altered one', async () => {
    const { body } = await list({ page_size: '1' })
    const token: string = body.next_page_token
    const flipped = `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`

    const foreign = await governed.send({
      as: 'rita',
      url: '/v2/orgs/rival/governance/policies',
      query: { page_token: token },
    })

    expect(foreign.statusCode).toBe(400)
    for (const page_token of [flipped, `${token}=`, `${token}A`, token.slice(0, -1)])
      expect((await list({ page_token })).status).toBe(400)
  })
})
