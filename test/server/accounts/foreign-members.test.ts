import type { HistoryEvent } from '@palisade/protocol'
import { beforeEach, describe, expect, it } from 'vitest'
import { openTestServer, type TestServer } from '../test-server.ts'

const PASSWORD = 'the first long sentence'
const OTHER = 'the second long sentence'
const MINE = '/api/v1/user/access-tokens'

/** Owners add whom they like by name: nobody is asked, so nothing of his may come with him. */
describe('a user whom another organization adds', () => {
  let test: TestServer
  let alice: string
  let olga: string
  /** A member that `rival` made, from his password. */
  let rita: string

  beforeEach(async () => {
    test = await openTestServer()
    alice = await test.signIn(
      'alice',
      (await test.createOrganization('acme', 'alice')).personal_token,
    )
    olga = await test.signIn(
      'olga',
      (await test.createOrganization('rival', 'olga')).personal_token,
    )
    await add(olga, 'rival', { username: 'rita', role: 'auditor', password: PASSWORD })
    rita = await test.signIn('rita', PASSWORD)
    await add(alice, 'acme', { username: 'rita', role: 'member' })
  })

  async function add(as: string, org: string, payload: object): Promise<void> {
    const added = await test.send('POST', `/api/v1/orgs/${org}/members`, { as, payload })
    expect(added.statusCode, added.body).toBe(201)
  }
  async function useAccount(): Promise<void> {
    const payload = { name: 'at my new job', permissions: [], expires_in_days: 1 }
    const { id } = (await test.send('POST', MINE, { as: rita, payload })).json()
    await test.send('DELETE', `${MINE}/${id}`, { as: rita })
    const change = { password: PASSWORD, new_password: OTHER }
    await test.send('PUT', '/api/v1/user/password', { as: rita, payload: change })
    rita = await test.signIn('rita', OTHER)
  }
  /** Kinds of the events about the account, in the history of an organization. */
  async function accountEvents(as: string, org: string): Promise<string[]> {
    const feed = await test.send('GET', `/api/v1/orgs/${org}/events`, { as })
    const events: HistoryEvent[] = feed.json().data
    return events
      .filter(({ actor, before, after }) =>
        `${actor}${JSON.stringify([before, after])}`.includes('rita'),
      )
      .map(({ kind }) => kind)
      .filter((kind) => /^(?:user|access_token)\./.test(kind))
  }
  const ALL = [
    'user.created',
    'access_token.created',
    'access_token.revoked',
    'user.password_changed',
  ]
  const reset = (as: string, org: string) =>
    test.send('PUT', `/api/v1/orgs/${org}/members/rita/password`, {
      as,
      payload: { password: PASSWORD },
    })
  const remove = (as: string, org: string) =>
    test.send('DELETE', `/api/v1/orgs/${org}/members/rita`, { as })

  it('shows what he does with his account to the organization that made it, and to no other', async () => {
    await useAccount()

    expect(await accountEvents(olga, 'rival')).toEqual(ALL)
    expect(await accountEvents(alice, 'acme')).toEqual([])
    const feed = await test.send('GET', '/api/v1/orgs/acme/events', { as: alice })
    expect(feed.body).not.toContain('at my new job')
    expect(feed.json().data.at(-1)).toMatchObject({
      kind: 'member.added',
      after: { username: 'rita' },
    })
  })

  it('shows it to the first one again when he comes back', async () => {
    await remove(olga, 'rival')
    await useAccount()
    expect(await accountEvents(alice, 'acme')).toEqual([])

    await add(olga, 'rival', { username: 'rita', role: 'member' })
    const payload = { name: 'back again', permissions: [], expires_in_days: 1 }
    await test.send('POST', MINE, { as: rita, payload })

    expect(await accountEvents(olga, 'rival')).toEqual(['user.created', 'access_token.created'])
    expect(await accountEvents(alice, 'acme')).toEqual([])
  })

  it('keeps his password when the one that made him has let him go', async () => {
    const whileInBoth = await reset(alice, 'acme')
    await remove(olga, 'rival')
    const alone = await reset(alice, 'acme')

    expect([whileInBoth.statusCode, alone.statusCode]).toEqual([403, 403])
    expect(alone.json().error.message).toBe(whileInBoth.json().error.message)
    expect((await test.exchange('rita', PASSWORD)).statusCode).toBe(200)
  })

  it('gets a new password from the organization that made him, which has him alone again', async () => {
    expect((await reset(olga, 'rival')).statusCode).toBe(403)
    await remove(alice, 'acme')
    expect((await reset(olga, 'rival')).statusCode).toBe(200)
  })

  it('shows his account to an organization that its operator made for him', async () => {
    await test.createOrganization('third', 'rita')
    await useAccount()

    const third = await test.signIn('rita', OTHER)
    expect(await accountEvents(third, 'third')).toEqual(['access_token.created', ...ALL.slice(1)])
  })
})
