import {
  createdEnrolmentTokenSchema,
  listEnrolmentTokensResponseSchema,
  parseEnrolmentToken,
  type CreatedEnrolmentToken,
  type Role,
} from '@palisade/protocol'
import { createHash } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { kindOfSecretToken } from '../../../../server/src/identity/tokens/secret-token.ts'
import { freshName } from '../../fresh-name.ts'
import { openOwner, type Owner } from '../../owner.ts'
import { enrolTestDevice } from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const PASSWORD = 'a long enough password'
const REQUEST = { name: 'build machines', labels: ['linux', 'ci'], max_uses: 3, expires_in_days: 7 }

describe('the enrolment tokens of an organization', () => {
  let test: TestServer
  let org: string
  let acme: string
  /** The user name of the owner. */
  let name: string
  let owner: Owner
  let alice: string

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    ;[org, name] = [freshName('acme'), freshName('alice')]
    acme = `/api/v1/orgs/${org}`
    owner = await openOwner(test, org, name)
    alice = owner.as
  })

  const tokens = () => `${acme}/enrolment-tokens`
  const timeInDays = (days: number) => new Date(test.now() + days * DAY_MS).toISOString()
  const post = (payload: object, as = alice, url = tokens()) =>
    test.send('POST', url, { as, payload })

  async function created(payload: object = REQUEST, as = alice): Promise<CreatedEnrolmentToken> {
    const response = await post(payload, as)
    expect(response.statusCode, response.body).toBe(201)
    return createdEnrolmentTokenSchema.parse(response.json())
  }

  async function list(as = alice) {
    const response = await test.send('GET', tokens(), { as })
    return listEnrolmentTokensResponseSchema.parse(response.json()).data
  }

  const addMember = (username: string, role: Role) => owner.addMember(username, role, PASSWORD)

  async function organizationToken(permissions: string[]) {
    const payload = { name: 'ci', permissions, expires_in_days: 2 }
    const response = await test.send('POST', `${acme}/access-tokens`, { as: alice, payload })
    const { id, token } = response.json<{ id: string; token: string }>()
    return { id, as: await test.signIn(org, token) }
  }

  it('contain a secret, the organization, its root and the server', async () => {
    const { token } = await created()

    const parts = parseEnrolmentToken(token)
    expect(parts).toMatchObject({ org, server: 'http://127.0.0.1:8420' })
    expect(kindOfSecretToken(parts?.secret ?? '')).toBe('enrolment')
    const root = await test.store.read((reader) => reader.trust.newestRoot(org))
    expect(parts?.root_sha256).toBe(
      createHash('sha256')
        .update(root?.body ?? '')
        .digest('hex'),
    )
    for (const spoilt of [token.slice(0, 80), ` ${token}`, `${token}/x`, `${token}\n`, ''])
      expect(parseEnrolmentToken(spoilt), spoilt).toBeNull()
  })

  it('are listed with their details, without the secret', async () => {
    const { token, ...shown } = await created()

    expect(await list()).toEqual([shown])
    expect(shown).toMatchObject({
      name: 'build machines',
      labels: ['ci', 'linux'],
      prefix: token.slice(0, 12),
      max_uses: 3,
      uses: 0,
      last_used_at: null,
      created_by: `user:${name}`,
      expires_at: timeInDays(7),
      expired: false,
    })
    test.advance(7 * DAY_MS)
    const later = await test.signIn(name, await renewedToken())
    expect(await list(later)).toMatchObject([{ expired: true }])
  })

  /** After this time access tokens have expired, but not the owner's personal token. */
  async function renewedToken(): Promise<string> {
    return (await test.createOrganization(freshName('other'), name)).personal_token
  }

  it.each([
    ['no name', { name: ' ' }],
    ['no use', { max_uses: 0 }],
    ['half a use', { max_uses: 1.5 }],
    ['a life of no day', { expires_in_days: 0 }],
    ['a life of more than 30 days', { expires_in_days: 31 }],
    ['a label twice', { labels: ['ci', 'ci'] }],
    ['a label that is none', { labels: ['CI!'] }],
    ['17 labels', { labels: Array.from({ length: 17 }, (_, n) => `l${n}`) }],
  ])('are refused with %s', async (_title, change) => {
    const response = await post({ ...REQUEST, ...change })

    expect(response.statusCode).toBe(400)
    expect(response.json().error.field).toMatch(new RegExp(`^${Object.keys(change)[0]}`))
    expect(await list()).toEqual([])
  })

  it('are for administrators of an organization with governance', async () => {
    const { as: admin } = await organizationToken(['organization:admin'])
    const { id } = await created(REQUEST, admin)
    const others = [
      await addMember(freshName('bob'), 'member'),
      await addMember(freshName('ed'), 'editor'),
      await addMember(freshName('audrey'), 'auditor'),
      (await organizationToken(['policies:read', 'policies:write', 'audit:read'])).as,
    ]

    for (const as of others) {
      expect((await post(REQUEST, as)).statusCode).toBe(403)
      expect((await test.send('GET', tokens(), { as })).statusCode).toBe(403)
      expect((await test.send('DELETE', `${tokens()}/${id}`, { as })).statusCode).toBe(403)
    }
    const poor = freshName('poor')
    await test.createOrganization(poor, name, false)
    const inPoor = await post(REQUEST, alice, `/api/v1/orgs/${poor}/enrolment-tokens`)
    expect(inPoor.statusCode).toBe(403)
    expect((await list()).map((token) => token.id)).toEqual([id])
  })

  it('are revoked once, and no longer listed', async () => {
    const [lost, kept] = [await created(), await created()]

    const revoke = (id: string) => test.send('DELETE', `${tokens()}/${id}`, { as: alice })
    expect((await revoke(lost.id)).statusCode).toBe(204)
    expect((await revoke(lost.id)).statusCode).toBe(404)

    expect((await list()).map(({ id }) => id)).toEqual([kept.id])
  })

  it('are revoked with the access token whose session created them', async () => {
    const { id, as } = await organizationToken(['organization:admin'])
    const made = await created(REQUEST, as)
    expect(made.expires_at).toBe(timeInDays(2))

    await test.send('DELETE', `${acme}/access-tokens/${id}`, { as: alice })

    expect(await list()).toEqual([])
  })

  it('are revoked when their creator leaves', async () => {
    const username = freshName('olga')
    const olga = await addMember(username, 'owner')
    const [ofOlga, ofAlice] = [await created(REQUEST, olga), await created()]

    await test.send('DELETE', `${acme}/members/${username}`, { as: alice })

    expect((await list()).map(({ id }) => id)).toEqual([ofAlice.id])
    const stored = await test.store.read((reader) =>
      reader.events.list(org, { after: 0, through: 1000, limit: 100 }),
    )
    const revoked = stored.filter(({ kind }) => kind === 'enrolment_token.revoked')
    expect(revoked.map(({ subject }) => subject.id)).toEqual([ofOlga.id])
  })

  it('are revoked when their creator is no longer an owner', async () => {
    const username = freshName('olga')
    const olga = await addMember(username, 'owner')
    const ofAlice = await created()
    await created(REQUEST, olga)

    const payload = { role: 'editor' }
    await test.send('PATCH', `${acme}/members/${username}`, { as: alice, payload })

    expect((await list()).map(({ id }) => id)).toEqual([ofAlice.id])
  })

  it('pin the root that enrolled devices have', async () => {
    const { token } = await created()

    const { root } = (await enrolTestDevice(test, alice, org)).enrolment

    expect(parseEnrolmentToken(token)?.root_sha256).toBe(
      createHash('sha256').update(root).digest('hex'),
    )
  })
})
