import type { HistoryEvent } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freshNames } from '../fresh-name.ts'
import { cheapenHashes } from '../identity/sign-in/cheap-hashes.ts'
import { openOwner, type Owner } from '../owner.ts'
import { enrolTestDevice } from '../test-device.ts'
import { atEndOfTests } from '../temporary-directory.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

const PASSWORD = 'the first long sentence'
const OTHER = 'the second long sentence'
const MINE = '/api/v1/user/access-tokens'

/** Owners may invite any user by name. Accepting gives them no access to the account. */
describe('a user whom another organization adds', () => {
  const atEnd = atEndOfTests()
  let test: TestServer
  let named: (name: string) => string
  let acme: Owner
  let rival: Owner
  let alice: string
  let olga: string
  /** A member created by `rival`, signed in with a password. */
  let rita: string

  beforeAll(async () => {
    cheapenHashes(atEnd)
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    named = freshNames()
    acme = await openOwner(test, named('acme'), named('alice'))
    rival = await openOwner(test, named('rival'), named('olga'))
    ;[alice, olga] = [acme.as, rival.as]
    rita = await rival.addMember(named('rita'), 'auditor', PASSWORD)
    await acme.addKnown(named('rita'), 'member')
  })

  async function useAccount(): Promise<void> {
    const payload = { name: 'at my new job', permissions: [], expires_in_days: 1 }
    const { id } = (await test.send('POST', MINE, { as: rita, payload })).json()
    await test.send('DELETE', `${MINE}/${id}`, { as: rita })
    const change = { password: PASSWORD, new_password: OTHER }
    await test.send('PUT', '/api/v1/user/password', { as: rita, payload: change })
    rita = await test.signIn(named('rita'), OTHER)
  }
  /** Kinds of the events about the account, in the history of an organization. */
  async function accountEvents(as: string, org: string): Promise<string[]> {
    const feed = await test.send('GET', `/api/v1/orgs/${org}/events`, { as })
    const events: HistoryEvent[] = feed.json().data
    return events
      .filter(({ actor, before, after }) =>
        `${actor}${JSON.stringify([before, after])}`.includes(named('rita')),
      )
      .map(({ kind }) => kind)
      .filter((kind) => /^(?:user|access_token)\./.test(kind))
  }
  async function tokenOf(as: string, permissions: string[]): Promise<string> {
    const payload = { name: permissions.join(), permissions, expires_in_days: 1 }
    const { token } = (await test.send('POST', MINE, { as, payload })).json()
    return test.signIn(named('rita'), token)
  }
  const ALL = [
    'user.created',
    'access_token.created',
    'access_token.revoked',
    'user.password_changed',
  ]
  const reset = (as: string, org: string) =>
    test.send('PUT', `/api/v1/orgs/${org}/members/${named('rita')}/password`, {
      as,
      payload: { password: PASSWORD },
    })
  const remove = (as: string, org: string) =>
    test.send('DELETE', `/api/v1/orgs/${org}/members/${named('rita')}`, { as })

  it('has account events only in the organization that created it', async () => {
    await useAccount()

    expect(await accountEvents(olga, named('rival'))).toEqual(ALL)
    expect(await accountEvents(alice, named('acme'))).toEqual([])
    const feed = await test.send('GET', `/api/v1/orgs/${named('acme')}/events`, { as: alice })
    expect(feed.body).not.toContain('at my new job')
    expect(feed.json().data.at(-1)).toMatchObject({
      kind: 'member.added',
      after: { username: named('rita') },
    })
  })

  it('has account events in the first one again after returning to it', async () => {
    await remove(olga, named('rival'))
    await useAccount()
    expect(await accountEvents(alice, named('acme'))).toEqual([])

    await rival.addKnown(named('rita'), 'member')
    const payload = { name: 'back again', permissions: [], expires_in_days: 1 }
    await test.send('POST', MINE, { as: rita, payload })

    expect(await accountEvents(olga, named('rival'))).toEqual([
      'user.created',
      'access_token.created',
    ])
    expect(await accountEvents(alice, named('acme'))).toEqual([])
  })

  it('keeps the password after leaving the organization that created it', async () => {
    const whileInBoth = await reset(alice, named('acme'))
    await remove(olga, named('rival'))
    const alone = await reset(alice, named('acme'))

    expect([whileInBoth.statusCode, alone.statusCode]).toEqual([403, 403])
    expect(alone.json().error.message).toBe(whileInBoth.json().error.message)
    expect((await test.exchange(named('rita'), PASSWORD)).statusCode).toBe(200)
  })

  it('can get a new password from the organization that created it, as its only one', async () => {
    expect((await reset(olga, named('rival'))).statusCode).toBe(403)
    await remove(alice, named('acme'))
    expect((await reset(olga, named('rival'))).statusCode).toBe(200)
  })

  it('can leave it, which revokes their machines there', async () => {
    const devices = `/api/v1/orgs/${named('acme')}/devices`
    await enrolTestDevice(test, alice, named('acme'), { user: named('rita') })

    const left = await remove(rita, named('acme'))

    expect([left.statusCode, left.body]).toEqual([204, ''])
    expect((await remove(rita, named('acme'))).statusCode).toBe(404)
    const { data } = (await test.send('GET', devices, { as: alice })).json()
    expect(data).toMatchObject([{ user: named('rita'), revoked_at: expect.any(String) }])
    const feed = await test.send('GET', `/api/v1/orgs/${named('acme')}/events`, { as: alice })
    expect(feed.json().data).toContainEqual(
      expect.objectContaining({
        kind: 'member.removed',
        actor: `user:${named('rita')}`,
        after: null,
      }),
    )
    expect((await remove(rita, named('rival'))).statusCode).toBe(204)
  })

  it('can remove only themselves, not even an unknown member', async () => {
    await acme.addKnown(named('bob'), 'member')

    for (const other of [
      named('alice'),
      named('bob'),
      'nobody',
      named('Rita'),
      `${named('rita')}%20`,
    ]) {
      const url = `/api/v1/orgs/${named('acme')}/members/${other}`
      const refused = await test.send('DELETE', url, { as: rita })
      expect([refused.statusCode, refused.json().error.code]).toEqual([403, 'permission_denied'])
    }
    const members = await test.send('GET', `/api/v1/orgs/${named('acme')}/members`, { as: alice })
    expect(members.json().data).toHaveLength(3)
  })

  it('can leave only with all permissions there, keeping tokens of others', async () => {
    const limited = await tokenOf(rita, ['policies:read'])
    expect((await remove(limited, named('rival'))).statusCode).toBe(403)
    // This needs an administrator, because the tokens belong to the organization.
    const url = `/api/v1/orgs/${named('acme')}/members/${named('rita')}?organization_tokens=revoke`
    expect((await test.send('DELETE', url, { as: rita })).statusCode).toBe(403)
    const unknown = await test.send(
      'DELETE',
      `/api/v1/orgs/${named('acme')}/members/${named('rita')}?x=1`,
      { as: rita },
    )
    expect(unknown.statusCode).toBe(400)

    const full = await tokenOf(rita, ['policies:read', 'audit:read'])
    expect((await remove(full, named('rival'))).statusCode).toBe(204)
  })

  it('is not an organization token of the same name', async () => {
    const namesake = await openOwner(test, named('rita'), named('ron'))
    await namesake.addKnown(named('rita'), 'member')
    const ci = await namesake.organizationToken(['policies:read'])

    expect((await remove(ci, named('rita'))).statusCode).toBe(403)
  })

  it('cannot leave as its last owner', async () => {
    await test.createOrganization(named('third'), named('rita'))
    const owner = await test.signIn(named('rita'), PASSWORD)

    expect((await remove(owner, named('third'))).statusCode).toBe(409)
    const payload = { username: named('olga'), role: 'owner' }
    await test.send('POST', `/api/v1/orgs/${named('third')}/members`, { as: owner, payload })
    expect((await remove(owner, named('third'))).statusCode).toBe(409)
    const accept = `/api/v1/user/invitations/${named('third')}/accept`
    expect((await test.send('POST', accept, { as: olga })).statusCode).toBe(200)
    expect((await remove(owner, named('third'))).statusCode).toBe(204)
  })

  it('has no account events in an organization that the operator created', async () => {
    await test.createOrganization(named('third'), named('rita'))
    await useAccount()

    const third = await test.signIn(named('rita'), OTHER)
    expect(await accountEvents(third, named('third'))).toEqual([])
  })
})
