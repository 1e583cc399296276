import { setTimeout } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { revokeUser } from '../../../../server/src/organizations/revoke-user.ts'
import { atEndOfTests } from '../../temporary-directory.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { cheapenHashes } from './cheap-hashes.ts'

const MINUTE_MS = 60_000
const HOME = '198.51.100.7'
const ELSEWHERE = '203.0.113.9'

let test: TestServer
let alice: Awaited<ReturnType<TestServer['createOrganization']>> & { password: string }

beforeEach(async () => {
  test = await openTestServer()
  const created = await test.createOrganization('acme', 'alice')
  alice = { ...created, password: created.password ?? '' }
})

async function statusOf(name: string, secret: string, address: string): Promise<number> {
  return (await test.exchange(name, secret, address)).statusCode
}

async function statuses(
  count: number,
  attempt: (index: number) => Promise<number>,
): Promise<number[]> {
  const seen = new Set<number>()
  for (let index = 0; index < count; index += 1) seen.add(await attempt(index))
  return [...seen]
}

describe('the sign-in limits', () => {
  const atEnd = atEndOfTests()
  beforeAll(() => cheapenHashes(atEnd))

  const guess = (count: number) =>
    statuses(count, (index) => statusOf('alice', 'wrong password', `10.1.0.${index}`))

  async function createOrganizationToken(): Promise<string> {
    const as = await test.signIn('alice', alice.personal_token)
    const payload = { name: 'ci', permissions: [], expires_in_days: 1 }
    const made = await test.send('POST', '/api/v1/orgs/acme/access-tokens', { as, payload })
    return made.json<{ token: string }>().token
  }

  it('admit every valid token while others guess its name, even in its network', async () => {
    const token = await createOrganizationToken()
    await guess(20)
    await statuses(30, () => statusOf('alice', 'pal_pat_x', HOME))
    await statuses(30, () => statusOf('acme', 'pal_oat_x', HOME))

    for (const address of [HOME, ELSEWHERE]) {
      expect(await statusOf('alice', alice.personal_token, address)).toBe(200)
      expect(await statusOf('acme', token, address)).toBe(200)
    }
  })

  it('admit a password from a known network of its account', async () => {
    expect(await statusOf('alice', alice.password, HOME)).toBe(200)

    await guess(25)
    await statuses(25, (index) => statusOf(`guess-${index}`, 'pal_pat_x', HOME))

    expect(await statusOf('alice', alice.password, HOME)).toBe(200)
    expect(await statusOf('alice', 'wrong password', HOME)).toBe(401)
    expect(await statusOf('alice', alice.password, ELSEWHERE)).toBe(429)
  })

  it('know a network only for the account that signed in from it', async () => {
    await test.createOrganization('rival', 'rita')
    expect(await statusOf('alice', alice.password, HOME)).toBe(200)
    await statuses(20, (index) => statusOf('rita', 'wrong password', `10.1.0.${index}`))

    expect(await statusOf('rita', 'wrong password', HOME)).toBe(429)
    expect(await statusOf('alice', alice.password, HOME)).toBe(200)
  })

  it('bound guesses of one account from changing networks to 20 a minute', async () => {
    expect(await guess(20)).toEqual([401])

    const refused = await test.exchange('alice', alice.password, ELSEWHERE)

    expect(refused.statusCode).toBe(429)
    expect(refused.headers['retry-after']).toBe('60')
    expect(refused.json()).toMatchObject({ error: { code: 'limit_exceeded' } })
    test.advance(MINUTE_MS)
    expect(await statusOf('alice', alice.password, ELSEWHERE)).toBe(200)
  })

  it('bound guesses from a known network to 20 a minute', async () => {
    expect(await statusOf('alice', alice.password, HOME)).toBe(200)

    expect(await statuses(20, () => statusOf('alice', 'wrong password', HOME))).toEqual([401])

    expect(await statusOf('alice', alice.password, HOME)).toBe(429)
    test.advance(MINUTE_MS)
    expect(await statusOf('alice', alice.password, HOME)).toBe(200)
  })

  it('admit an account elsewhere while its known network is blocked', async () => {
    expect(await statusOf('alice', alice.password, HOME)).toBe(200)
    await statuses(20, () => statusOf('alice', 'wrong password', HOME))

    expect(await statusOf('alice', alice.password, ELSEWHERE)).toBe(200)
  })

  it('forget the known networks of a revoked account', async () => {
    const { store } = test
    const at = new Date(test.now()).toISOString()
    await store.transaction((writer) => writer.knownNetworks.note('alice', HOME, at))
    await guess(20)
    expect(await statusOf('alice', 'wrong password', HOME)).toBe(401)

    await store.transaction((writer) => revokeUser(writer, 'alice', new Date(test.now())))

    expect(await statusOf('alice', alice.password, HOME)).toBe(429)
  })

  it('refuse a network after 20 failures and admit others', async () => {
    await statuses(20, (index) => statusOf(`guess-${index}`, 'pal_pat_x', HOME))

    expect(await statusOf('alice', 'pal_pat_x', HOME)).toBe(429)
    expect(await statusOf('alice', alice.password, HOME)).toBe(429)
    expect(await statusOf('alice', alice.password, ELSEWHERE)).toBe(200)
  })

  it('treat the addresses of an IPv6 /64 as one network', async () => {
    await statuses(20, (index) =>
      statusOf(`guess-${index}`, 'pal_pat_x', `2001:db8:0:1::${index.toString(16)}`),
    )

    expect(await statusOf('alice', alice.password, '2001:db8:0:1:ffff:ffff:ffff:ffff')).toBe(429)
    expect(await statusOf('alice', alice.password, '2001:db8:0:2::1')).toBe(200)
  })

  it('refuse an IPv6 /48 after 100 failures', async () => {
    await statuses(100, (index) =>
      statusOf(`guess-${index}`, 'pal_pat_x', `2001:db8:7:${index.toString(16)}::1`),
    )

    expect(await statusOf('alice', alice.password, '2001:db8:7:ffff::1')).toBe(429)
    expect(await statusOf('alice', alice.password, '2001:db8:8:ffff::1')).toBe(200)
  })

  it('treat an IPv4-mapped IPv6 address as the IPv4 address', async () => {
    await statuses(20, (index) => statusOf(`guess-${index}`, 'pal_pat_x', '::ffff:192.0.2.1'))

    expect(await statusOf('alice', alice.password, '192.0.2.1')).toBe(429)
    expect(await statusOf('alice', alice.password, '::ffff:192.0.2.2')).toBe(200)
  })

  it('hold for a burst of concurrent guesses', async () => {
    const attempts = Array.from({ length: 40 }, () => statusOf('alice', 'wrong password', HOME))

    const seen = await Promise.all(attempts)

    // Two guesses run at once, so at most one has started beyond the limit.
    expect(seen.filter((status) => status === 401).length).toBeLessThanOrEqual(21)
    expect(seen.filter((status) => status === 429).length).toBeGreaterThanOrEqual(19)
  })

  it('use the monotonic clock', async () => {
    await guess(20)

    test.setBack(60 * MINUTE_MS)

    const refused = await test.exchange('alice', alice.password, ELSEWHERE)
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '60'])
    test.advance(MINUTE_MS)
    expect(await statusOf('alice', alice.password, ELSEWHERE)).toBe(200)
  })
})

/** With hashes that take their time. */
describe('the sign-in limits', () => {
  it('admit a newcomer during an attack by 70 guessers from changing networks', async () => {
    let guessed = 0
    const over = new AbortController()
    const guessOn = async (guesser: number): Promise<void> => {
      for (let round = 0; !over.signal.aborted; round += 1) {
        const address = `198.${18 + (guesser % 2)}.${round % 256}.${guesser}`
        const name = `guess-${guesser}-${round}`
        if ((await statusOf(name, 'wrong password', address)) === 429) await setTimeout(50)
        else guessed += 1
      }
    }
    const guessers = Array.from({ length: 70 }, (_, guesser) => guessOn(guesser))
    await expect.poll(() => guessed).toBeGreaterThan(10)

    const seen: number[] = []
    const before = guessed
    // Each from its own network, so that none is known.
    for (let index = 0; index < 4; index += 1)
      seen.push(await statusOf('alice', alice.password, `192.0.${index}.7`))
    over.abort()
    await Promise.all(guessers)

    expect(seen).toEqual(Array(4).fill(200))
    expect(guessed).toBeGreaterThan(before)
  })
})
