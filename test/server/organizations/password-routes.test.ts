import type { Role } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { cheapenHashes } from '../identity/sign-in/cheap-hashes.ts'
import { atEndOfTests } from '../temporary-directory.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

const ACME = '/api/v1/orgs/acme'
const MINE = '/api/v1/user/password'
const OLD = 'the first long sentence'
const NEW = 'the second long sentence'

describe('passwords', () => {
  const atEnd = atEndOfTests()
  beforeAll(() => cheapenHashes(atEnd))

  let test: TestServer
  let alice: string

  beforeEach(async () => {
    test = await openTestServer()
    const { personal_token } = await test.createOrganization('acme', 'alice')
    alice = await test.signIn('alice', personal_token)
  })

  async function addMember(username: string, role: Role = 'member'): Promise<string> {
    const payload = { username, role, password: OLD }
    const response = await test.send('POST', `${ACME}/members`, { as: alice, payload })
    expect(response.statusCode, response.body).toBe(201)
    return test.signIn(username, OLD)
  }

  async function personalToken(as: string): Promise<string> {
    const payload = { name: 'x', permissions: [], expires_in_days: 1 }
    const response = await test.send('POST', '/api/v1/user/access-tokens', { as, payload })
    return response.json().token
  }

  const change = (as: string, payload: object) => test.send('PUT', MINE, { as, payload })
  const reset = (as: string, username: string, payload: object = { password: NEW }) =>
    test.send('PUT', `${ACME}/members/${username}/password`, { as, payload })
  const isIn = async (as: string) =>
    (await test.send('GET', '/api/v1/user/organizations', { as })).statusCode === 200
  const statusOf = async (username: string, secret: string, address?: string) =>
    (await test.exchange(username, secret, address)).statusCode

  describe('of the caller', () => {
    it('change with the old one, and end only its sessions', async () => {
      const bob = await addMember('bob')
      const other = await test.signIn('bob', OLD)
      const carol = await addMember('carol')
      const token = await personalToken(bob)
      const byToken = await test.signIn('bob', token)

      const changed = await change(bob, { password: OLD, new_password: NEW })

      expect([changed.statusCode, changed.json()]).toEqual([
        200,
        { username: 'bob', revoked_tokens: 0 },
      ])
      expect([await isIn(bob), await isIn(other)]).toEqual([false, false])
      expect([await isIn(byToken), await isIn(carol)]).toEqual([true, true])
      expect([await statusOf('bob', OLD), await statusOf('bob', NEW)]).toEqual([401, 200])
      expect(await isIn(await test.signIn('bob', NEW))).toBe(true)
    })

    it('revoke personal tokens on request', async () => {
      const bob = await addMember('bob')
      const token = await personalToken(bob)
      const byToken = await test.signIn('bob', token)

      const changed = await change(bob, { password: OLD, new_password: NEW, revoke_tokens: true })

      expect(changed.json()).toEqual({ username: 'bob', revoked_tokens: 1 })
      expect([await isIn(byToken), await statusOf('bob', token)]).toEqual([false, 401])
    })

    it('do not change with a wrong old one or an invalid new one', async () => {
      const bob = await addMember('bob')
      for (const [status, payload] of [
        [403, { password: 'wrong', new_password: NEW }],
        [403, { password: '', new_password: NEW }],
        [400, { password: OLD, new_password: OLD }],
        [400, { password: OLD, new_password: 'short' }],
        [400, { password: OLD, new_password: `pal_pat_${'x'.repeat(20)}` }],
        [400, { new_password: NEW }],
        [400, { password: OLD, new_password: NEW, username: 'alice' }],
      ] as const)
        expect((await change(bob, payload)).statusCode, JSON.stringify(payload)).toBe(status)

      expect([await isIn(bob), await statusOf('bob', OLD)]).toEqual([true, 200])
    })

    it('have the same limit of guesses as the token endpoint', async () => {
      const bob = await addMember('bob')
      for (let failure = 0; failure < 20; failure += 1)
        expect((await change(bob, { password: 'wrong', new_password: NEW })).statusCode).toBe(403)

      const refused = await change(bob, { password: OLD, new_password: NEW })

      expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '60'])
      expect(await statusOf('bob', OLD)).toBe(429)
      test.advance(60_000)
      expect((await change(bob, { password: OLD, new_password: NEW })).statusCode).toBe(200)
    })

    it('change once for two concurrent requests', async () => {
      const bob = await addMember('bob')

      const statuses = await Promise.all(
        [NEW, `${NEW} again`].map(async (new_password) => {
          const response = await change(bob, { password: OLD, new_password })
          return response.statusCode
        }),
      )

      expect(new Set(statuses)).toEqual(new Set([200, 409]))
    })

    it('are refused to strangers and organization tokens', async () => {
      const payload = { name: 'ci', permissions: ['organization:admin'], expires_in_days: 1 }
      const made = await test.send('POST', `${ACME}/access-tokens`, { as: alice, payload })
      const ci = await test.signIn('acme', made.json().token)

      expect((await change(ci, { password: OLD, new_password: NEW })).statusCode).toBe(403)
      expect((await test.send('PUT', MINE, { payload: {} })).statusCode).toBe(401)
    })

    it('are in the history without the secret', async () => {
      const bob = await addMember('bob')
      await change(bob, { password: OLD, new_password: NEW })

      const events = await test.store.read((reader) =>
        reader.events.list('acme', { after: 0, through: 1_000, limit: 1_000 }),
      )

      expect(events.at(-1)).toMatchObject({
        kind: 'user.password_changed',
        actor: 'user:bob',
        subject: { id: 'bob' },
      })
      expect(JSON.stringify(events)).not.toContain('argon2')
    })
  })

  describe('of others', () => {
    it('can be reset by an owner, which ends the member’s sessions', async () => {
      const bob = await addMember('bob')
      const token = await personalToken(bob)

      const answer = await reset(alice, 'bob', { password: NEW, revoke_tokens: true })

      expect([answer.statusCode, answer.json()]).toEqual([
        200,
        { username: 'bob', revoked_tokens: 1 },
      ])
      expect(await isIn(bob)).toBe(false)
      expect([
        await statusOf('bob', OLD),
        await statusOf('bob', NEW),
        await statusOf('bob', token),
      ]).toEqual([401, 200, 401])
    })

    it('cannot be reset for members of another organization too', async () => {
      const bob = await addMember('bob')
      await test.createOrganization('rival', 'bob')

      expect((await reset(alice, 'bob')).statusCode).toBe(403)

      expect([await isIn(bob), await statusOf('bob', OLD)]).toEqual([true, 200])
    })

    it('cannot be reset by members, for strangers, or for the caller', async () => {
      const bob = await addMember('bob')
      const ed = await addMember('ed', 'editor')
      const { personal_token } = await test.createOrganization('rival', 'rita')
      const rita = await test.signIn('rita', personal_token)

      expect((await reset(bob, 'ed')).statusCode).toBe(403)
      expect((await reset(ed, 'bob')).statusCode).toBe(403)
      expect((await reset(rita, 'bob')).statusCode).toBe(404)
      expect((await reset(alice, 'rita')).statusCode).toBe(404)
      expect((await reset(alice, 'alice')).statusCode).toBe(403)
      expect((await reset(alice, 'bob', { password: 'short' })).statusCode).toBe(400)
      expect([await isIn(bob), await isIn(ed), await isIn(alice)]).toEqual([true, true, true])
    })

    it('can be reset twenty times a minute by one caller, refusals included', async () => {
      await addMember('bob')
      await addMember('carol', 'owner')
      const carol = await test.signIn('carol', OLD)
      for (let times = 0; times < 20; times += 1)
        expect((await reset(alice, 'alice')).statusCode).toBe(403)

      const refused = await reset(alice, 'bob')

      expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '60'])
      expect(refused.json().error.code).toBe('limit_exceeded')
      expect((await reset(carol, 'bob')).statusCode).toBe(200)
      expect(await isIn(alice)).toBe(true)
      test.advance(60_000)
      expect((await reset(alice, 'bob')).statusCode).toBe(200)
    })

    it('cannot be reset for members with more permissions', async () => {
      await addMember('olga', 'owner')
      await addMember('bob')
      const payload = { name: 'ci', permissions: ['organization:admin'], expires_in_days: 1 }
      const made = await test.send('POST', `${ACME}/access-tokens`, { as: alice, payload })
      const ci = await test.signIn('acme', made.json().token)

      expect((await reset(ci, 'olga')).statusCode).toBe(403)
      expect((await reset(ci, 'bob')).statusCode).toBe(200)
      expect((await reset(alice, 'olga')).statusCode).toBe(200)
    })
  })
})
