import { PERMISSIONS, type CreatedAccessToken } from '@palisade/protocol'
import { randomBytes, randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createAccessTokenService } from '../../../server/src/organizations/access-token-service.ts'
import { createWriteLimits } from '../../../server/src/identity/limits/write-limits.ts'
import { readConfig } from '../../../server/src/config/config.ts'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import type { Principal } from '../../../server/src/identity/principal.ts'
import { freshNames } from '../fresh-name.ts'
import { atEndOfTests } from '../temporary-directory.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

const MINE = '/api/v1/user/access-tokens'
/** Of the organization of the test. */
const OF_ACME = '/api/v1/orgs/{org}/access-tokens'
const START = '2026-11-21T08:00:00.250Z'
const DAY_MS = 24 * 60 * 60 * 1000

describe('a token created in a session', () => {
  const atEnd = atEndOfTests()
  let test: TestServer
  let named: (name: string) => string
  /** A session that alice opened with a password. */
  let alice: string

  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    named = freshNames()
    const { password } = await test.createOrganization(named('acme'), named('alice'))
    alice = await test.signIn(named('alice'), password ?? '')
  })

  const urlOf = (list: string) => list.replace('{org}', named('acme'))

  async function create(as: string, url: string, days: number): Promise<CreatedAccessToken> {
    const payload = { name: 'x', permissions: PERMISSIONS, expires_in_days: days }
    const response = await test.send('POST', urlOf(url), { as, payload })
    expect(response.statusCode, response.body).toBe(201)
    return response.json()
  }

  const session = ({ token }: CreatedAccessToken) =>
    test.signIn(token.startsWith('pal_oat_') ? named('acme') : named('alice'), token)

  const revoke = (url: string, { id }: CreatedAccessToken) =>
    test.send('DELETE', `${urlOf(url)}/${id}`, { as: alice })

  const inDays = (days: number) => new Date(Date.parse(START) + days * DAY_MS).toISOString()

  /** Statuses of a new exchange and of a request in an earlier session. */
  async function statusesOf(
    { token }: CreatedAccessToken,
    open: string,
  ): Promise<[number, number]> {
    const exchanged = await test.exchange(
      token.startsWith('pal_oat_') ? named('acme') : named('alice'),
      token,
    )
    const asked = await test.send('GET', `/api/v1/orgs/${named('acme')}/members`, { as: open })
    return [exchanged.statusCode, asked.statusCode]
  }

  it.each([
    ['a personal token', MINE, MINE],
    ['a personal token, for an organization,', MINE, OF_ACME],
    ['an organization token', OF_ACME, OF_ACME],
  ])('opened with %s expires no later than that token', async (_title, of, where) => {
    const as = await session(await create(alice, of, 2))

    expect((await create(as, where, 3650)).expires_at).toBe(inDays(2))
    expect((await create(as, where, 1)).expires_at).toBe(inDays(1))
  })

  it('opened with a password has the requested lifetime', async () => {
    expect((await create(alice, MINE, 3650)).expires_at).toBe(inDays(3650))
    expect((await create(alice, OF_ACME, 3650)).expires_at).toBe(inDays(3650))
  })

  it.each([
    ['a personal', MINE, [MINE, MINE, OF_ACME, OF_ACME]],
    ['an organization', OF_ACME, [OF_ACME, OF_ACME]],
  ])(
    'opened with %s token is revoked with it, with all descendants',
    async (_kind, url, generations) => {
      const stolen = await create(alice, url, 30)
      const other = await create(alice, url, 30)
      const otherSession = await session(other)
      const family = [{ token: stolen, open: await session(stolen) }]
      for (const where of generations) {
        const token = await create(family.at(-1)?.open ?? '', where, 30)
        family.push({ token, open: await session(token) })
      }

      expect((await revoke(url, stolen)).statusCode).toBe(204)

      for (const { token, open } of family)
        expect(await statusesOf(token, open)).toEqual([401, 401])
      expect(await statusesOf(other, otherSession)).toEqual([200, 200])
      const listed = (await test.send('GET', urlOf(url), { as: alice })).body
      for (const { token } of family) expect(listed).not.toContain(token.id)
      expect(listed).toContain(other.id)
    },
  )

  it('can be revoked without the token that opened its session', async () => {
    const parent = await create(alice, MINE, 30)
    const open = await session(parent)
    const child = await create(open, MINE, 30)

    await revoke(MINE, child)

    expect(await statusesOf(parent, open)).toEqual([200, 200])
    expect((await test.exchange(named('alice'), child.token)).statusCode).toBe(401)
  })

  it.each(['personal', 'organization'] as const)(
    'is refused if the %s token of the session is revoked after admission',
    async (kind) => {
      const url = kind === 'personal' ? MINE : OF_ACME
      const stolen = await create(alice, url, 30)
      const author = { actor: `user:${named('alice')}`, address: '127.0.0.1', request_id: 'r' }
      const principal: Principal =
        kind === 'personal'
          ? {
              kind: 'user',
              username: named('alice'),
              tokenId: stolen.id,
              rootTokenId: stolen.id,
              permissions: PERMISSIONS,
            }
          : {
              kind: 'organization',
              org: named('acme'),
              tokenId: stolen.id,
              rootTokenId: stolen.id,
              permissions: PERMISSIONS,
            }
      const admitted = { ...principal, author }
      const tokens = createAccessTokenService({
        store: createAuditedStore({ store: test.store, now: () => new Date(START) }),
        quotas: readConfig({}, '/').quotas,
        writeLimits: createWriteLimits({ perMinute: 9, ownPerHour: 9 }, () => 1),
        pageTokenKey: new Uint8Array(32),
        now: () => new Date(START),
        random: (bytes) => randomBytes(bytes),
        newId: () => randomUUID(),
      })
      await revoke(url, stolen)

      const request = { name: 'x', permissions: [], expires_in_days: 1 }
      const once = { scope: null, caller: `user:${named('alice')}`, bodyHash: '', hasSecret: true }
      const late =
        kind === 'personal'
          ? tokens.createPersonal(admitted, request, once)
          : tokens.createForOrganization(admitted, named('acme'), request, once)

      await expect(late).rejects.toMatchObject({ status: 401, code: 'unauthenticated' })
      expect((await test.send('GET', urlOf(url), { as: alice })).json().data).toHaveLength(
        kind === 'personal' ? 1 : 0,
      )
    },
  )
})
