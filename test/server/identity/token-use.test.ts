import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTokenUse, type TokenUse } from '../../../server/src/identity/token-use.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { freshName } from '../fresh-name.ts'
import { atEndOfTests } from '../temporary-directory.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

const MINUTE_MS = 60_000
const START_MS = Date.parse('2026-11-21T08:00:30.000Z')

describe('the last use of a token', () => {
  const atEnd = atEndOfTests()
  let test: TestServer
  let nowMs: number
  let use: TokenUse
  let transactions: number
  /** Work that waits for the end of the minute. */
  let timers: (() => Promise<void>)[]
  let isAway: boolean
  let id: string

  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    const { username } = await test.createOrganization(freshName('acme'), freshName('alice'))
    const [token] = await test.store.read((reader) => reader.accessTokens.listOfUser(username))
    id = token?.id ?? ''
    nowMs = START_MS
    transactions = 0
    timers = []
    isAway = false
    const transaction: Store['transaction'] = async (work) => {
      if (isAway) throw new Error('the disk is full')
      transactions += 1
      return test.store.transaction(work)
    }
    use = createTokenUse({
      store: { transaction },
      now: () => new Date(nowMs),
      later: (work) => timers.push(work),
    })
  })

  const lastUsed = async () =>
    (await test.store.read((reader) => reader.accessTokens.find(id)))?.last_used_at

  it('is written once a minute, however often it is used', async () => {
    for (let times = 0; times < 1_000; times += 1) use.note(id)
    expect([transactions, timers.length]).toEqual([0, 1])

    await use.flush()
    expect(await lastUsed()).toBe('2026-11-21T08:00:00.000Z')
    for (let times = 0; times < 1_000; times += 1) use.note(id)
    await use.flush()
    expect(transactions).toBe(1)

    nowMs += MINUTE_MS
    use.note(id)
    await use.flush()
    expect(transactions).toBe(2)
    expect(await lastUsed()).toBe('2026-11-21T08:01:00.000Z')
  })

  it('is retried while the store is unavailable', async () => {
    isAway = true
    use.note(id)
    await timers[0]?.()
    expect(await lastUsed()).toBeNull()

    isAway = false
    await timers[1]?.()
    expect(await lastUsed()).toBe('2026-11-21T08:00:00.000Z')
  })

  it('is written in slices', async () => {
    for (let index = 0; index < 450; index += 1) use.note(`token ${index}`)

    await use.flush()

    expect(transactions).toBe(3)
  })

  it('is kept for a bounded number of tokens', async () => {
    isAway = true
    for (let index = 0; index < 30_000; index += 1) use.note(`token ${index}`)
    isAway = false

    await use.flush()

    expect(transactions).toBe(50)
  })

  it('is not written without use', async () => {
    await use.flush()

    expect([transactions, timers.length]).toEqual([0, 0])
  })
})

describe('a list of tokens', () => {
  const MINE = '/api/v1/user/access-tokens'
  const OF_ACME = '/api/v1/orgs/acme/access-tokens'

  async function openAcme() {
    const test = await openTestServer()
    const { password } = await test.createOrganization('acme', 'alice')
    const alice = await test.signIn('alice', password ?? '')
    const create = async (as: string, url: string) => {
      const payload = { name: 'x', permissions: ['organization:admin'], expires_in_days: 1 }
      const response = await test.send('POST', url, { as, payload })
      expect(response.statusCode, response.body).toBe(201)
      return response.json()
    }
    const list = async (url: string) =>
      (await test.send('GET', url, { as: await test.signIn('alice', password ?? '') })).json().data
    return { test, alice, create, list }
  }

  it('shows prefix, creator and last use of each token', async () => {
    const { test, alice, create, list } = await openAcme()
    const made = await create(alice, OF_ACME)
    const ci = await test.signIn('acme', made.token)
    const child = await create(ci, OF_ACME)
    const used = '2026-11-21T08:00:00.000Z'
    await test.store.transaction(({ accessTokens }) => accessTokens.touch(made.id, used))

    expect(await list(OF_ACME)).toEqual([
      {
        id: made.id,
        name: 'x',
        permissions: ['organization:admin'],
        prefix: made.token.slice(0, 12),
        created_at: '2026-11-21T08:00:00.250Z',
        created_by: 'user:alice',
        exceeds_creator: false,
        expires_at: '2026-11-22T08:00:00.250Z',
        expired: false,
        last_used_at: used,
      },
      expect.objectContaining({
        id: child.id,
        created_by: `organization:acme:${made.id}`,
        last_used_at: null,
      }),
    ])
    const [first] = await list(MINE)
    expect(first).toMatchObject({ created_by: 'operator', last_used_at: null })
  })

  it('includes uses until the server stops', async () => {
    const { test, alice, create } = await openAcme()
    const exchanged = await create(alice, OF_ACME)
    const unused = await create(alice, OF_ACME)
    await test.signIn('acme', exchanged.token)

    await test.server.close()

    const tokens = await test.store.read(({ accessTokens }) =>
      accessTokens.listOfOrganization('acme'),
    )
    expect(tokens.map(({ id, last_used_at }) => [id, last_used_at])).toEqual([
      [exchanged.id, '2026-11-21T08:00:00.000Z'],
      [unused.id, null],
    ])
  })

  it('counts each request of a session as a use', async () => {
    const { test, alice, create } = await openAcme()
    const made = await create(alice, OF_ACME)
    const ci = await test.signIn('acme', made.token)
    test.advance(5 * MINUTE_MS)
    await test.send('GET', OF_ACME, { as: ci })

    await test.server.close()

    const [token] = await test.store.read(({ accessTokens }) =>
      accessTokens.listOfOrganization('acme'),
    )
    expect(token?.last_used_at).toBe('2026-11-21T08:05:00.000Z')
  })

  it('shows an expired token as such, and it is refused', async () => {
    const { test, alice, create, list } = await openAcme()
    const made = await create(alice, OF_ACME)

    test.advance(24 * 60 * MINUTE_MS - 1)
    expect(await list(OF_ACME)).toMatchObject([{ id: made.id, expired: false }])
    test.advance(1)

    expect(await list(OF_ACME)).toMatchObject([{ id: made.id, expired: true }])
    expect((await test.exchange('acme', made.token)).statusCode).toBe(401)
  })
})
