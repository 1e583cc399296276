import { beforeEach, describe, expect, it } from 'vitest'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import {
  retireAccessTokenKey,
  rotateAccessTokenKey,
} from '../../../server/src/identity/tokens/rotate-access-token-key.ts'
import { openOwner } from '../owner.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

const ACME = '/api/v1/orgs/acme'
const POLICIES = '/v2/orgs/acme/governance/policies'
const PASSWORD = 'a long enough password'

/** Each right is used often before it is revoked, so that all caches hold it. */
const WARM_UP = 5

describe('a revocation takes effect at the next request:', () => {
  let test: TestServer
  let alice: string
  /** A session of the editor ed, opened with a password. */
  let ed: string
  let team: string

  beforeEach(async () => {
    test = await openTestServer()
    const owner = await openOwner(test, 'acme', 'alice')
    alice = owner.as
    ed = await owner.addMember('ed', 'editor', PASSWORD)
    team = (await asAlice('POST', `${ACME}/teams`, { name: 'backend' })).json().id
    await asAlice('PUT', `${ACME}/teams/${team}/members/ed`)
    await asAlice('POST', POLICIES, { name: 'for backend', scope: { teams: [team] } })
  })

  const asAlice = (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, payload?: object) =>
    test.send(method, url, { as: alice, ...(payload === undefined ? {} : { payload }) })

  const read = async (as: string) => (await test.send('GET', POLICIES, { as })).statusCode

  async function warmUp(as: string): Promise<void> {
    for (let times = 0; times < WARM_UP; times += 1) expect(await read(as)).toBe(200)
  }

  async function makeToken(as: string, url: string): Promise<{ id: string; token: string }> {
    const payload = { name: 'x', permissions: ['policies:read'], expires_in_days: 1 }
    return (await test.send('POST', url, { as, payload })).json()
  }

  const rotated = async () => {
    const audited = createAuditedStore({ store: test.store, now: () => new Date() })
    const { followed } = await rotateAccessTokenKey(audited, OPERATOR, new Date())
    for (const { kid } of followed)
      await retireAccessTokenKey(audited, OPERATOR, kid, new Date('2026-01-01T00:00:00Z'))
  }

  it.each([
    ['a membership', 404, () => asAlice('DELETE', `${ACME}/members/ed`)],
    ['a role', 403, () => asAlice('PATCH', `${ACME}/members/ed`, { role: 'member' })],
    [
      'governance',
      403,
      () =>
        test.store.transaction(({ organizations }) => organizations.updateEntitled('acme', false)),
    ],
    [
      'a password changed by its user',
      401,
      () =>
        test.send('PUT', '/api/v1/user/password', {
          as: ed,
          payload: { password: PASSWORD, new_password: `${PASSWORD} of today` },
        }),
    ],
    [
      'a password reset by an owner',
      401,
      () => asAlice('PUT', `${ACME}/members/ed/password`, { password: `${PASSWORD} of today` }),
    ],
    ['a signing key', 401, rotated],
  ])('%s', async (_right, status, takeAway) => {
    await warmUp(ed)

    await takeAway()

    expect(await read(ed)).toBe(status)
  })

  it('a personal token with its sessions', async () => {
    const mine = '/api/v1/user/access-tokens'
    const { id, token } = await makeToken(ed, mine)
    const session = await test.signIn('ed', token)
    await warmUp(session)

    await test.send('DELETE', `${mine}/${id}`, { as: ed })

    expect([await read(session), await read(ed)]).toEqual([401, 200])
  })

  it('an organization token with its sessions', async () => {
    const { id, token } = await makeToken(alice, `${ACME}/access-tokens`)
    const session = await test.signIn('acme', token)
    await warmUp(session)

    await asAlice('DELETE', `${ACME}/access-tokens/${id}`)

    expect(await read(session)).toBe(401)
  })

  it('a membership of a team with its policies', async () => {
    const names = async (): Promise<string[]> => {
      const url = `${ACME}/effective-policy?user=ed`
      const response = await test.send('GET', url, { as: alice })
      return response.json().policies.map(({ name }: { name: string }) => name)
    }
    for (let times = 0; times < WARM_UP; times += 1) expect(await names()).toEqual(['for backend'])

    await asAlice('DELETE', `${ACME}/teams/${team}/members/ed`)

    expect(await names()).toEqual([])
  })

  it('a token that expires while it is cached', async () => {
    const { token } = await makeToken(alice, `${ACME}/access-tokens`)
    test.advance(24 * 60 * 60_000 - 60_000)
    const session = await test.signIn('acme', token)
    await warmUp(session)

    test.advance(60_000)

    expect(await read(session)).toBe(401)
  })
})
