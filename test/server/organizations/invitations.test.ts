import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { HistoryEvent } from '@palisade/protocol'
import { createOrganization } from '../../../server/src/organizations/create-organization.ts'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { systemSources } from '../../../server/src/platform/sources.ts'
import { freshNames } from '../fresh-name.ts'
import { openOwner, type Owner } from '../owner.ts'
import { atEndOfTests } from '../temporary-directory.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

const PASSWORD = 'a password that the rival chose'
const MINE = '/api/v1/user/invitations'

describe('the user of another organization', () => {
  const atEnd = atEndOfTests()
  let test: TestServer
  let named: (name: string) => string
  /** URLs of the organization, and of the user's answer to it. */
  let url: string
  let accept: string
  let acme: Owner
  let rival: Owner
  /** A member of `rival`. */
  let carol: string

  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    named = freshNames()
    url = `/api/v1/orgs/${named('acme')}`
    accept = `${MINE}/${named('acme')}/accept`
    acme = await openOwner(test, named('acme'), named('alice'))
    rival = await openOwner(test, named('rival'), named('rita'))
    carol = await rival.addMember(named('carol'), 'auditor', PASSWORD)
  })

  const add = (payload: object) => test.send('POST', `${url}/members`, { as: acme.as, payload })
  const invite = (role = 'owner') => add({ username: named('carol'), role })
  const statusOf = async (method: 'GET' | 'POST' | 'DELETE', url: string, as: string) =>
    (await test.send(method, url, { as })).statusCode
  const dataOf = async (url: string, as: string) =>
    (await test.send('GET', url, { as })).json().data
  const kinds = async (): Promise<string[]> => {
    const events: HistoryEvent[] = await dataOf(`${url}/events`, acme.as)
    return events.map(({ kind, actor }) => `${kind} ${actor}`)
  }

  it('is invited, and not a member before accepting', async () => {
    const answer = await invite()

    expect([answer.statusCode, answer.json()]).toEqual([
      201,
      { username: named('carol'), role: 'owner', teams: [], status: 'invited' },
    ])
    expect(await statusOf('GET', `${url}/members`, carol)).toBe(404)
    expect(await dataOf(`${url}/members`, acme.as)).toHaveLength(1)
    const [invitation] = await dataOf(MINE, carol)
    expect(invitation).toMatchObject({
      org: named('acme'),
      role: 'owner',
      invited_by: `user:${named('alice')}`,
    })
    expect(await dataOf(`${url}/invitations`, acme.as)).toEqual([invitation])
  })

  it('is a member after accepting alone', async () => {
    await invite()

    expect(await statusOf('POST', accept, acme.as)).toBe(200)
    expect(await statusOf('GET', `${url}/members`, carol)).toBe(404)
    expect(await statusOf('POST', accept, carol)).toBe(200)

    expect(await statusOf('GET', `${url}/members`, carol)).toBe(200)
    expect(await dataOf(MINE, carol)).toEqual([])
    expect((await kinds()).slice(-3)).toEqual([
      `invitation.created user:${named('alice')}`,
      `invitation.ended user:${named('carol')}`,
      `member.added user:${named('carol')}`,
    ])
  })

  it('stays out after declining, or after a withdrawal', async () => {
    await invite()
    expect(await statusOf('DELETE', `${MINE}/${named('acme')}`, carol)).toBe(204)
    expect(await statusOf('POST', accept, carol)).toBe(404)
    await invite()
    expect(await statusOf('DELETE', `${url}/invitations/${named('carol')}`, rival.as)).toBe(404)
    expect(await statusOf('DELETE', `${url}/invitations/${named('carol')}`, acme.as)).toBe(204)

    expect(await statusOf('POST', accept, carol)).toBe(404)
    expect(await statusOf('GET', `${url}/members`, carol)).toBe(404)
  })

  it('has at most one pending invitation, and gets no password', async () => {
    await invite()

    expect((await invite('member')).statusCode).toBe(409)
    const withPassword = await add({ username: named('rita'), role: 'member', password: PASSWORD })
    expect(withPassword.statusCode).toBe(409)
  })

  it('cannot accept or decline with a token that lacks permissions', async () => {
    await invite()
    const sessionOf = async (permissions: readonly string[]) => {
      const payload = { name: 'x', permissions, expires_in_days: 1 }
      const made = await test.send('POST', '/api/v1/user/access-tokens', { as: carol, payload })
      return test.signIn(named('carol'), made.json<{ token: string }>().token)
    }
    const narrow = await sessionOf(['policies:read'])

    expect(await statusOf('POST', accept, narrow)).toBe(403)
    expect(await statusOf('DELETE', `${MINE}/${named('acme')}`, narrow)).toBe(403)
    expect(await statusOf('POST', accept, await sessionOf(['policies:read', 'audit:read']))).toBe(
      200,
    )
  })

  it('is a member at once in the organization that created it, like a new user', async () => {
    await test.send('DELETE', `/api/v1/orgs/${named('rival')}/members/${named('carol')}`, {
      as: rival.as,
    })
    const again = await test.send('POST', `/api/v1/orgs/${named('rival')}/members`, {
      as: rival.as,
      payload: { username: named('carol'), role: 'member' },
    })
    const fresh = await add({ username: named('dora'), role: 'member' })

    expect([again.json().status, fresh.json().status]).toEqual(['active', 'active'])
  })

  it('is invited as an owner by the operator, who gets no token', async () => {
    const sources = { ...systemSources(), now: () => new Date(test.now()) }
    const created = await createOrganization(
      { store: createAuditedStore({ store: test.store, ...sources }), ...sources },
      { name: named('third'), owner: named('carol'), entitled: true },
    )

    expect(created).toEqual({
      org: named('third'),
      username: named('carol'),
      password: null,
      personal_token: null,
      status: 'invited',
    })
    expect(await statusOf('GET', `/api/v1/orgs/${named('third')}/members`, carol)).toBe(404)
    expect(await statusOf('POST', `${MINE}/${named('third')}/accept`, carol)).toBe(200)
    expect(await statusOf('GET', `/api/v1/orgs/${named('third')}/members`, carol)).toBe(200)
  })
})
