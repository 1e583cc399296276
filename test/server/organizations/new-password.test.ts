import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openOwner, type Owner } from '../owner.ts'
import { atEndOfTests } from '../temporary-directory.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { cheapenHashes } from '../identity/sign-in/cheap-hashes.ts'
import { countSlowHashes } from '../identity/sign-in/count-slow-hashes.ts'

const MEMBERS = '/api/v1/orgs/acme/members'
const PASSWORD = 'the first long sentence'
/** Fewer than the 64 hashes that may wait. */
const AT_ONCE = 50
const MEMBERS_A_MINUTE = 300

// The number of hashes counts, not their time.
const atEnd = atEndOfTests()
beforeAll(() => cheapenHashes(atEnd))

let test: TestServer
let owner: Owner
let hashes: string[]

beforeEach(async () => {
  test = await openTestServer(undefined, { settings: { PALISADE_MAX_MEMBERS: '400' } })
  owner = await openOwner(test, 'acme', 'alice')
})

/** Counts hashes from here on. */
function countHashes(): void {
  hashes = []
  countSlowHashes((parameters) => hashes.push(parameters))
}

const add = (as: string, body: object, key?: string) =>
  test.send('POST', MEMBERS, {
    as,
    payload: { role: 'member', password: PASSWORD, ...body },
    headers: key === undefined ? {} : { 'idempotency-key': key },
  })

describe('the password of a new member', () => {
  it('is hashed once, and only if the request can add the member', async () => {
    const bob = await owner.addMember('bob', 'member', PASSWORD)
    const ci = await owner.organizationToken(['organization:admin'])
    const rival = await openOwner(test, 'rival', 'rita')
    await add(owner.as, { username: 'rita', password: undefined })
    await openOwner(test, 'other', 'olga')
    expect((await add(owner.as, { username: 'carol' }, 'k1')).statusCode).toBe(201)
    countHashes()

    for (const [as, body, status, message, key] of [
      [rival.as, { username: 'dan' }, 404, 'organization not found'],
      [bob, { username: 'dan' }, 403, 'this needs the permission `organization:admin`'],
      [ci, { username: 'dan', role: 'owner' }, 403, 'the role `owner` has'],
      [ci, { username: 'bob', role: 'owner' }, 403, 'the role `owner` has'],
      [
        ci,
        { username: 'dan', role: 'owner', password: 'pal_pat_x1234567890' },
        400,
        '`password` must not look like an access token',
      ],
      [owner.as, { username: 'carol' }, 409, 'its secret was not kept', 'k1'],
      [owner.as, { username: 'bob' }, 409, '`bob` is a member already', 'k2'],
      [owner.as, { username: 'rita' }, 409, '`rita` is invited already'],
      [owner.as, { username: 'olga' }, 409, 'user `olga` exists already; leave out `password`'],
    ] as const) {
      const answer = await add(as, body, key)
      expect([answer.statusCode, answer.json().error.message]).toEqual([
        status,
        expect.stringContaining(message),
      ])
    }
    expect(hashes).toEqual([])

    expect((await add(owner.as, { username: 'dan' }, 'k3')).statusCode).toBe(201)
    expect(hashes).toHaveLength(1)
  })

  it('is not hashed for a reused key or a full organization', async () => {
    test = await openTestServer(undefined, { settings: { PALISADE_MAX_MEMBERS: '2' } })
    owner = await openOwner(test, 'acme', 'alice')
    await add(owner.as, { username: 'bob', password: undefined }, 'k1')
    countHashes()

    const sameKey = await add(owner.as, { username: 'bob' }, 'k1')
    const member = await add(owner.as, { username: 'bob' })
    const full = await add(owner.as, { username: 'carol' })

    expect(sameKey.json().error.message).toContain('was sent before with a different body')
    expect(member.json().error.message).toContain('is a member already')
    expect([full.statusCode, full.json().error.code]).toEqual([403, 'limit_exceeded'])
    expect(hashes).toEqual([])
  })

  it(
    'is hashed at most 300 times a minute for an organization, without refused requests',
    { timeout: 120_000 },
    async () => {
      const ci = await owner.organizationToken(['organization:admin'])
      const rival = await openOwner(test, 'rival', 'rita')
      for (let index = 0; index < MEMBERS_A_MINUTE; index += 1)
        expect((await add(owner.as, { username: 'alice' })).statusCode).toBe(409)
      countHashes()
      for (let first = 0; first < MEMBERS_A_MINUTE; first += AT_ONCE) {
        const answers = await Promise.all(
          Array.from({ length: AT_ONCE }, (_, index) =>
            add(owner.as, { username: `user-${first + index}` }),
          ),
        )
        expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([201]))
      }

      const refused = [await add(owner.as, { username: 'dan' }), await add(ci, { username: 'dan' })]

      for (const answer of refused)
        expect([answer.statusCode, answer.headers['retry-after']]).toEqual([429, '60'])
      expect(hashes).toHaveLength(MEMBERS_A_MINUTE)
      expect((await add(owner.as, { username: 'eve', password: undefined })).statusCode).toBe(201)
      const elsewhere = await test.send('POST', '/api/v1/orgs/rival/members', {
        as: rival.as,
        payload: { username: 'dan', role: 'member', password: PASSWORD },
      })
      expect(elsewhere.statusCode).toBe(201)
      test.advance(60_000)
      expect((await add(owner.as, { username: 'frank' })).statusCode).toBe(201)
    },
  )
})

describe('a new password of the caller', () => {
  it('is hashed at most twenty times a minute; wrong old ones have their own limit', async () => {
    const bob = await owner.addMember('bob', 'member', PASSWORD)
    const token = await test.send('POST', '/api/v1/user/access-tokens', {
      as: bob,
      payload: { name: 'x', permissions: [], expires_in_days: 1 },
    })
    // A session opened with a token outlives the password.
    const as = await test.signIn('bob', token.json().token)
    let current = PASSWORD
    const change = async (new_password: string) => {
      const answer = await test.send('PUT', '/api/v1/user/password', {
        as,
        payload: { password: current, new_password },
      })
      if (answer.statusCode === 200) current = new_password
      return answer
    }
    for (let times = 0; times < 20; times += 1)
      expect((await change(`${PASSWORD} ${times}`)).statusCode).toBe(200)
    countHashes()

    const refused = await change(PASSWORD)

    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '60'])
    expect(hashes, 'of the old one').toHaveLength(1)
    test.advance(60_000)
    expect((await change(PASSWORD)).statusCode).toBe(200)
  })
})
