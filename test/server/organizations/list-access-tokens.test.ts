import { describe, expect, it } from 'vitest'
import { openOwner } from '../owner.ts'
import { openTestServer } from '../test-server.ts'

const ACME = '/api/v1/orgs/acme/access-tokens'
const OWN = '/api/v1/user/access-tokens'
const DAY_MS = 24 * 60 * 60 * 1000

async function open() {
  const test = await openTestServer()
  const { personal_token } = await test.createOrganization('acme', 'alice')
  const signIn = (secret = personal_token) => test.signIn('alice', secret)
  const alice = await signIn()
  const make = async (url: string, name: string, permissions: string[], expires_in_days = 9) => {
    const payload = { name, permissions, expires_in_days }
    const answer = await test.send('POST', url, { as: alice, payload })
    expect(answer.statusCode, answer.body).toBe(201)
    return answer.json<{ id: string; token: string }>()
  }
  const list = async (url: string, as: string) => {
    const answer = await test.send('GET', url, { as })
    return answer.json<{
      data: { name: string; expired: boolean }[]
      next_page_token: string | null
    }>()
  }
  return { test, signIn, alice, make, list }
}

describe('the list of access tokens', () => {
  it.each([ACME, OWN])('shows an expired token for 30 days: %s', async (url) => {
    const { test, signIn, make, list } = await open()
    await make(url, 'short', [], 1)
    const names = async () => (await list(url, await signIn())).data.map(({ name }) => name)

    test.advance(DAY_MS)
    const [expired] = (await list(url, await signIn())).data.filter(({ name }) => name === 'short')
    expect(expired).toMatchObject({ expired: true })
    test.advance(30 * DAY_MS - 1)
    expect(await names()).toContain('short')
    test.advance(1)
    expect(await names()).not.toContain('short')
  })

  it('can revoke a token that is no longer shown', async () => {
    const { test, signIn, make } = await open()
    const { id } = await make(ACME, 'short', [], 1)
    test.advance(40 * DAY_MS)

    const answer = await test.send('DELETE', `${ACME}/${id}`, { as: await signIn() })

    expect(answer.statusCode).toBe(204)
  })

  it('counts only visible tokens for a narrow token, on every page', async () => {
    const { signIn, make, list } = await open()
    const narrow = await make(OWN, 'narrow', ['policies:read'])
    for (const index of [1, 2, 3]) {
      await make(OWN, `wide ${index}`, ['organization:admin'])
      await make(OWN, `small ${index}`, [])
    }
    await make(OWN, 'wide 4', ['policies:write'])
    const as = await signIn(narrow.token)

    const names: string[] = []
    let query = '?page_size=2'
    for (;;) {
      const page = await list(OWN + query, as)
      names.push(...page.data.map(({ name }) => name))
      // Only the last page is short: otherwise it would reveal hidden tokens.
      if (page.next_page_token === null) break
      expect(page.data).toHaveLength(2)
      query = `?page_size=2&page_token=${page.next_page_token}`
    }

    expect(names).toEqual(['narrow', 'small 1', 'small 2', 'small 3'])
  })

  it('shows the first hundred without a page parameter, then the rest', async () => {
    const { alice, make, list } = await open()
    for (let index = 0; index < 103; index += 1) await make(ACME, `t${index}`, [])

    const first = await list(ACME, alice)
    const second = await list(`${ACME}?page_token=${first.next_page_token}`, alice)

    expect(first.data).toHaveLength(100)
    expect(second.data.map(({ name }) => name)).toEqual(['t100', 't101', 't102'])
    expect(second.next_page_token).toBeNull()
  })

  it('refuses the page token of another user or of another organization of its owner', async () => {
    const test = await openTestServer()
    const owner = await openOwner(test, 'acme', 'alice')
    const bob = await owner.addMember('bob', 'member', 'a long enough password')
    await test.createOrganization('second', 'alice')
    for (const name of ['a', 'b'])
      for (const url of [OWN, ACME])
        await test.send('POST', url, {
          as: owner.as,
          payload: { name, permissions: [], expires_in_days: 1 },
        })
    const tokenOf = async (url: string) =>
      (await test.send('GET', `${url}?page_size=1`, { as: owner.as })).json().next_page_token
    const [own, ofAcme] = [await tokenOf(OWN), await tokenOf(ACME)]
    const statusOf = async (url: string, token: string, as: string) =>
      (await test.send('GET', `${url}?page_token=${token}`, { as })).statusCode

    expect(await statusOf(OWN, own, bob)).toBe(400)
    expect(await statusOf('/api/v1/orgs/second/access-tokens', ofAcme, owner.as)).toBe(400)
    expect(await statusOf(ACME, ofAcme, bob)).toBe(403)
    expect(await statusOf(OWN, own, owner.as)).toBe(200)
    expect(await statusOf(ACME, ofAcme, owner.as)).toBe(200)
  })
})
