import { createHmac } from 'node:crypto'
import { createServer, readConfig } from '@palisade/server'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { revokeUser } from '../../../../server/src/organizations/revoke-user.ts'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../../server/src/history/author.ts'
import { systemSources } from '../../../../server/src/platform/sources.ts'
import type { StoreWriter } from '../../../../server/src/store/store.ts'
import { freshName } from '../../fresh-name.ts'
import { openOwner } from '../../owner.ts'
import { atEndOfTests, temporaryDirectory, type AtEnd } from '../../temporary-directory.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import {
  AUDIENCE,
  createKey,
  NOW_SECONDS,
  signToken,
  startTestIssuer,
  type KeyPair,
  type TestIssuer,
} from './test-issuer.ts'

const POLICIES = '/v2/orgs/acme/governance/policies'

const atEnd = atEndOfTests()
let issuer: TestIssuer
let key: KeyPair
let test: TestServer
let logged = ''
/** Distinguishes the names of a test from those of the others. */
let suffix: string
/** A session of the owner alice, opened with a personal token of this server. */
let alice: string
/** The URL of `acme`. */
let api: string

const named = (name: string) => `${name}${suffix}`
const policiesOf = (org: string) => `/v2/orgs/${named(org)}/governance/policies`

async function openServer(until?: AtEnd): Promise<void> {
  issuer = await startTestIssuer(until)
  key = await createKey('k1')
  issuer.publish(key)
  test = await openTestServer(until, {
    settings: settings(),
    log: { level: 'trace', stream: { write: (line) => void (logged += line) } },
  })
}

/** Organizations `acme`, of alice, and `initech`, of mallory. */
async function populate(): Promise<void> {
  suffix = freshName('')
  api = `/api/v1/orgs/${named('acme')}`
  logged = ''
  alice = (await openOwner(test, named('acme'), named('alice'))).as
  await test.createOrganization(named('initech'), named('mallory'))
  await asAlice('POST', `${api}/members`, { username: named('ed'), role: 'editor' })
  await asAlice('POST', `${api}/members`, { username: named('max'), role: 'member' })
}

const settings = () => ({
  PALISADE_OIDC_ISSUER: issuer.url,
  PALISADE_OIDC_AUDIENCE: AUDIENCE,
  PALISADE_OIDC_TEAMS_CLAIM: 'groups',
})

const asAlice = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) =>
  test.send(method, url, { as: alice, ...(payload === undefined ? {} : { payload }) })

const tokenOf = (name: string, claims: object = {}, header: Record<string, unknown> = {}) =>
  signToken(key, { iss: issuer.url, sub: named(name), ...claims }, header)

const read = async (as: string, org = 'acme') =>
  (await test.send('GET', policiesOf(org), { as })).statusCode

function forged(header: object, claims: object, sign: (text: string) => string): string {
  const parts = [
    header,
    {
      iss: issuer.url,
      sub: named('ed'),
      aud: AUDIENCE,
      iat: NOW_SECONDS,
      exp: NOW_SECONDS + 300,
      ...claims,
    },
  ]
  const text = parts
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${text}.${sign(text)}`
}

describe('a session of the external issuer', () => {
  beforeAll(() => openServer(atEnd))
  beforeEach(populate)

  it('acts as its user with the rights of the user', async () => {
    const ed = await tokenOf('ed')

    const response = await test.send('POST', policiesOf('acme'), {
      as: ed,
      payload: { name: 'mine' },
    })
    const events = await asAlice('GET', `${api}/events?kind=policy.created`)

    expect(response.statusCode).toBe(201)
    expect(events.json().data).toMatchObject([{ actor: `user:${named('ed')}` }])
  })

  it.each([
    ['403 beyond its role', 'max', 'acme', 403],
    ['404 in a foreign organization', 'ed', 'initech', 404],
    ['404 for a user of another organization', 'mallory', 'acme', 404],
    ['401 for a user who does not exist', 'nobody', 'acme', 401],
    ['401 for a name in another case', 'Ed', 'acme', 401],
    ['401 for the name of an organization', 'acme', 'acme', 401],
  ])('gets %s', async (_title, sub, org, status) => {
    expect(await read(await tokenOf(sub), org)).toBe(status)
  })

  it('gets the same answer for an unknown user as for a bad signature', async () => {
    const unknown = await test.send('GET', policiesOf('acme'), { as: await tokenOf('nobody') })
    const token = await tokenOf('ed')
    const bad = await test.send('GET', policiesOf('acme'), { as: `${token.slice(0, -8)}AAAAAAAA` })

    expect([unknown.statusCode, bad.statusCode]).toEqual([401, 401])
    const errorOf = (response: typeof bad) => ({ ...response.json().error, request_id: '' })
    expect(errorOf(unknown)).toEqual(errorOf(bad))
    expect(unknown.headers['www-authenticate']).toBe(bad.headers['www-authenticate'])
  })

  it('ends at the next request when its user leaves the organization', async () => {
    const ed = await tokenOf('ed')
    expect(await read(ed)).toBe(200)

    await asAlice('DELETE', `${api}/members/${named('ed')}`)

    expect(await read(ed)).toBe(404)
  })

  it.each([
    ['the audience in a list', { aud: ['other', AUDIENCE] }, {}],
    ['the type JWT', {}, { typ: 'JWT' }],
    ['the long form of its type', {}, { typ: 'application/at+jwt' }],
    ['no type', {}, { typ: undefined }],
    ['the `typ` claim of Keycloak', { typ: 'Bearer' }, { typ: 'JWT' }],
    ['a clock 30 s behind', { exp: NOW_SECONDS - 29 }, {}],
    ['a clock 30 s ahead', { iat: NOW_SECONDS + 30, nbf: NOW_SECONDS + 30 }, {}],
  ])('is accepted with %s', async (_title, claims, header) => {
    expect(await read(await tokenOf('ed', claims, header))).toBe(200)
  })

  it.each([
    ['of another audience', { aud: 'https://other.example' }, {}],
    ['without audience', { aud: undefined }, {}],
    ['with an audience of another case', { aud: AUDIENCE.toUpperCase() }, {}],
    ['that has expired', { exp: NOW_SECONDS - 31 }, {}],
    ['that never expires', { exp: undefined }, {}],
    ['that is not valid yet', { nbf: NOW_SECONDS + 60 }, {}],
    ['from the future', { iat: NOW_SECONDS + 60 }, {}],
    ['of unknown age', { iat: undefined }, {}],
    ['that is older than a day', { iat: NOW_SECONDS - 86_431 }, {}],
    ['without `sub`', { sub: undefined }, {}],
    ['with a `sub` that is not a string', () => ({ sub: [named('ed')] }), {}],
    ['that is an ID token', { at_hash: 'x' }, { typ: 'JWT' }],
    ['that is an ID token of Keycloak', { typ: 'ID' }, { typ: 'JWT' }],
    ['that is a logout token', { events: {} }, { typ: 'JWT' }],
    ['with the type of another document', {}, { typ: 'logout+jwt' }],
    ['with a key that is not published', {}, { kid: 'k2' }],
    ['without `kid`', {}, { kid: undefined }],
    ['that brings its own key', {}, { kid: 'k2', jwk: { kty: 'EC' } }],
    ['longer than 16 KiB', { pad: 'x'.repeat(13_000) }, {}],
  ])('is refused with a token %s', async (_title, claims, header) => {
    const wrong = typeof claims === 'function' ? claims() : claims
    expect(await read(await tokenOf('ed', wrong, header))).toBe(401)
  })

  it('is refused without a signature and with an HMAC by the public key', async () => {
    const publicText = JSON.stringify(key.jwk)
    const hmac = (text: string) => createHmac('sha256', publicText).update(text).digest('base64url')

    expect(await read(forged({ alg: 'none', kid: 'k1' }, {}, () => ''))).toBe(401)
    expect(await read(forged({ alg: 'HS256', kid: 'k1' }, {}, hmac))).toBe(401)
    expect(await read(forged({ alg: 'ES256', kid: 'k1' }, {}, hmac))).toBe(401)
  })

  it('cannot create tokens of this server, which would outlive it', async () => {
    const payload = { name: 'x', permissions: ['policies:read'], expires_in_days: 1 }
    const owner = await tokenOf('alice')
    const urls = ['/api/v1/user/access-tokens', `${api}/access-tokens`]

    for (const url of urls) {
      expect((await test.send('POST', url, { as: owner, payload })).statusCode).toBe(403)
      expect((await test.send('POST', url, { as: alice, payload })).statusCode).toBe(201)
    }
  })

  it('is not ended by a password change', async () => {
    const ed = await tokenOf('ed')
    await test.store.transaction((writer) => writer.users.updatePassword(named('ed'), null))

    expect(await read(ed)).toBe(200)
  })

  it('keeps its token out of the log', async () => {
    const tokens = [await tokenOf('ed'), await tokenOf('nobody'), await tokenOf('ed', { aud: 'x' })]
    for (const as of tokens) await read(as)

    expect(logged).toContain('a token of the OIDC issuer was refused')
    for (const token of tokens)
      for (const part of token.split('.').slice(1)) expect(logged).not.toContain(part)
  })

  describe('with a teams claim', () => {
    let backend: string
    let research: string
    let both: string

    beforeEach(async () => {
      backend = (await asAlice('POST', `${api}/teams`, { name: 'backend' })).json().id
      research = (await asAlice('POST', `${api}/teams`, { name: 'research' })).json().id
      both = (await asAlice('POST', `${api}/teams`, { name: 'both' })).json().id
    })

    const teamsOf = async (username: string): Promise<string[]> => {
      const members = (await asAlice('GET', `${api}/members`)).json().data
      return members.find((member: { username: string }) => member.username === named(username))
        .teams
    }

    it('puts its user into exactly the teams named by the claim, by name or UUID', async () => {
      await read(await tokenOf('ed', { groups: ['backend', 'unknown', research.toUpperCase()] }))
      expect((await teamsOf('ed')).toSorted()).toEqual([backend, research].toSorted())

      await read(await tokenOf('ed', { groups: ['research'], iat: NOW_SECONDS + 1 }))
      expect(await teamsOf('ed')).toEqual([research])

      await read(await tokenOf('ed', { groups: [], iat: NOW_SECONDS + 2 }))
      expect(await teamsOf('ed')).toEqual([])
    })

    const ORDERS = [
      ['backend', 'research'],
      ['research', 'backend'],
    ] as const
    it.each(ORDERS)(
      'keeps only teams named by all tokens of one second (%s first)',
      async (first, second) => {
        await read(await tokenOf('ed', { groups: [first, 'both'] }))
        await read(await tokenOf('ed', { groups: ['both', second] }))
        expect(await teamsOf('ed')).toEqual([both])

        // An unseen token, as on another server or after a restart.
        await read(await tokenOf('ed', { groups: [first, 'both'], jti: 'again' }))
        expect(await teamsOf('ed')).toEqual([both])

        await read(await tokenOf('ed', { groups: [first], iat: NOW_SECONDS + 1 }))
        expect(await teamsOf('ed')).toEqual([first === 'backend' ? backend : research])
      },
    )

    it('keeps only teams named by both of two concurrent tokens', async () => {
      const tokens = await Promise.all([
        tokenOf('ed', { groups: ['backend', 'both'] }),
        tokenOf('ed', { groups: ['both', 'research'] }),
        tokenOf('ed', { groups: ['both'] }),
      ])

      await Promise.all(tokens.map((token) => read(token)))

      expect(await teamsOf('ed')).toEqual([both])
    })

    it('does not change teams by a token from before a revocation of its user', async () => {
      const stolen = await tokenOf('ed', { groups: ['backend'] })
      await test.store.transaction((writer) =>
        revokeUser(writer, named('ed'), new Date(NOW_SECONDS * 1000)),
      )

      expect(await read(stolen)).toBe(401)
      expect(await teamsOf('ed')).toEqual([])
    })

    it('records the issuer as the actor of team changes', async () => {
      await read(await tokenOf('ed', { groups: ['backend'] }))

      const events = await asAlice('GET', `${api}/events?kind=team.member_added`)
      expect(events.json().data).toMatchObject([
        { actor: `issuer:${issuer.url}`, address: '127.0.0.1', subject: { id: backend } },
      ])
    })

    it('does not write if teams are equal or the token was seen before', async () => {
      const ed = await tokenOf('ed', { groups: ['backend'] })
      await read(ed)
      await asAlice('DELETE', `${api}/teams/${backend}/members/${named('ed')}`)
      await read(ed)
      expect(await teamsOf('ed')).toEqual([])

      const before = (await asAlice('GET', `${api}/events`)).json().data.length
      await read(await tokenOf('ed', { groups: [] }))

      const after = (await asAlice('GET', `${api}/events`)).json().data.length
      expect(after).toBe(before)
    })

    it('ignores the teams of an older token', async () => {
      const older = await tokenOf('ed', { groups: ['backend'], iat: NOW_SECONDS - 60 })
      await read(await tokenOf('ed', { groups: ['research'] }))

      expect(await read(older)).toBe(200)

      expect(await teamsOf('ed')).toEqual([research])
    })

    it('ignores an older token after a restart and on another server', async () => {
      const older = await tokenOf('ed', { groups: ['backend'], iat: NOW_SECONDS - 60 })
      await read(await tokenOf('ed', { groups: ['backend'], iat: NOW_SECONDS - 120 }))
      await read(await tokenOf('ed', { groups: [] }))
      const second = await createServer({
        config: readConfig(settings(), temporaryDirectory()),
        sources: { ...systemSources(), now: () => new Date(test.now()) },
        store: test.store,
        evidence: test.evidence,
        logger: false,
      })
      onTestFinished(() => second.close())

      const headers = { authorization: `Bearer ${older}` }
      const answer = await second.app.inject({ method: 'GET', url: policiesOf('acme'), headers })

      expect(answer.statusCode).toBe(200)
      expect(await teamsOf('ed')).toEqual([])
    })

    it.each([
      ['is absent', {}],
      ['is a string', { groups: 'research' }],
      ['is null', { groups: null }],
      ['is an object', { groups: { research: true } }],
      ['has an entry that is not a string', { groups: ['research', 7] }],
      ['has more than 500 strings', { groups: Array.from({ length: 501 }, String) }],
    ])('does not change teams if the claim %s', async (_title, claims) => {
      await asAlice('PUT', `${api}/teams/${backend}/members/${named('ed')}`)

      expect(await read(await tokenOf('ed', claims))).toBe(200)

      expect(await teamsOf('ed')).toEqual([backend])
    })

    it('is refused with 5,000 teams, which exceed the maximum length', async () => {
      const groups = Array.from({ length: 5000 }, (_, index) => `team ${index}`)

      expect(await read(await tokenOf('ed', { groups }))).toBe(401)
    })

    it('changes no organization of which its user is not a member', async () => {
      await test.store.transaction((writer) =>
        writer.teams.insert({
          org: named('initech'),
          id: backend.replace(/^.{8}/, '00000000'),
          name: 'backend',
        }),
      )

      await read(await tokenOf('ed', { groups: ['backend'] }))

      const users = await test.store.read((reader) => reader.teams.listOfUsers(named('initech')))
      expect(users.size).toBe(0)
    })

    it('synchronizes teams once for concurrent requests', async () => {
      const ed = await tokenOf('ed', { groups: ['backend'] })

      const statuses = await Promise.all(Array.from({ length: 8 }, () => read(ed)))

      const events = await asAlice('GET', `${api}/events?kind=team.member_added`)
      expect(new Set(statuses)).toEqual(new Set([200]))
      expect(events.json().data).toHaveLength(1)
    })
  })
})

/** Of an issuer that changes, or whose key set has not been read yet. */
describe('a session of the external issuer', () => {
  beforeEach(async () => {
    await openServer()
    await populate()
  })

  it.each([
    ['with a trailing slash', () => `${issuer.url}/`],
    ['in another case', () => issuer.url.toUpperCase()],
    ['of this server', () => 'palisade-server'],
    ['in a list', () => [issuer.url]],
    ['missing', () => undefined],
  ])('is refused with an `iss` %s', async (_title, iss) => {
    expect(await read(await signToken(key, { iss: iss(), sub: named('ed') }))).toBe(401)
    expect(issuer.seen).toEqual([])
  })

  it('is refused when the key set offers a symmetric key', async () => {
    const secret = Buffer.from('0123456789abcdef0123456789abcdef')
    const jwk = { kty: 'oct', kid: 'k9', alg: 'HS256', k: secret.toString('base64url') }
    issuer.answer('/keys', (_request, response) => response.end(JSON.stringify({ keys: [jwk] })))
    const hmac = (text: string) => createHmac('sha256', secret).update(text).digest('base64url')

    expect(await read(forged({ alg: 'HS256', kid: 'k9' }, {}, hmac))).toBe(401)
  })

  it.each(['RS256', 'PS256', 'EdDSA'])('is accepted when signed with %s', async (alg) => {
    const other = await createKey('k2', alg)
    issuer.publish(other)

    expect(await read(await signToken(other, { iss: issuer.url, sub: named('ed') }))).toBe(200)
  })

  it('is refused when signed with an algorithm that is not listed', async () => {
    const other = await createKey('k2', 'ES384')
    issuer.publish(other)

    expect(await read(await signToken(other, { iss: issuer.url, sub: named('ed') }))).toBe(401)
  })

  it('is verified apart from tokens of this server', async () => {
    expect(await read(alice)).toBe(200)
    expect(issuer.seen).toEqual([])

    await issuer.stop()
    expect(await read(await tokenOf('ed'))).toBe(401)
    expect(await read(alice)).toBe(200)
  })

  it('ends when its token expires, even if it is cached', async () => {
    const ed = await tokenOf('ed')
    expect(await read(ed)).toBe(200)

    test.advance(329_000)
    expect(await read(ed)).toBe(200)
    test.advance(1000)

    expect(await read(ed)).toBe(401)
  })

  it('ends when its key is withdrawn, even if its token is cached', async () => {
    const ed = await tokenOf('ed', { exp: NOW_SECONDS + 7200 })
    expect(await read(ed)).toBe(200)
    issuer.publish(await createKey('k2'))

    test.advance(10 * 60_000)

    expect(await read(ed)).toBe(401)
  })

  it('ends when another key takes over its `kid`', async () => {
    const ed = await tokenOf('ed', { exp: NOW_SECONDS + 7200 })
    expect(await read(ed)).toBe(200)
    issuer.publish(await createKey('k1'))

    test.advance(10 * 60_000)

    expect(await read(ed)).toBe(401)
  })

  it('survives an outage of the issuer for an hour', async () => {
    const ed = await tokenOf('ed', { exp: NOW_SECONDS + 7200 })
    expect(await read(ed)).toBe(200)
    await issuer.stop()

    test.advance(59 * 60_000)
    expect(await read(ed)).toBe(200)
    test.advance(60_000)

    expect(await read(ed)).toBe(401)
  })

  it('is accepted when the issuer starts after the server', async () => {
    await issuer.stop()
    expect(await read(await tokenOf('ed'))).toBe(401)

    await issuer.start()
    test.advance(30_000)

    expect(await read(await tokenOf('ed'))).toBe(200)
  })

  it('is ended by the revocation of its user, unless it was issued later', async () => {
    const known = await tokenOf('ed')
    const unseen = await tokenOf('ed', { jti: 'unseen' })
    const max = await tokenOf('max')
    expect([await read(known), await read(max)]).toEqual([200, 403])

    const revoke = (writer: StoreWriter) =>
      revokeUser(writer, named('ed'), new Date(NOW_SECONDS * 1000))
    await createAuditedStore({ store: test.store, now: () => new Date() }).write(OPERATOR, revoke)

    expect([await read(known), await read(unseen), await read(max)]).toEqual([401, 401, 403])
    // A clock that is ahead within the tolerance does not evade the revocation.
    const ahead = await tokenOf('ed', { iat: NOW_SECONDS + 30 })
    expect(await read(ahead)).toBe(401)
    test.advance(31_000)
    expect(await read(await tokenOf('ed', { iat: NOW_SECONDS + 31 }))).toBe(200)
    const events = await asAlice('GET', `${api}/events?kind=user.sessions_ended`)
    expect(events.json().data).toMatchObject([{ actor: 'operator', subject: { id: named('ed') } }])
  })
})

describe('a session with another username claim', () => {
  const open = async (claim: string) => {
    const issuer = await startTestIssuer()
    const key = await createKey('k1')
    issuer.publish(key)
    const test = await openTestServer(undefined, {
      settings: {
        PALISADE_OIDC_ISSUER: issuer.url,
        PALISADE_OIDC_AUDIENCE: AUDIENCE,
        PALISADE_OIDC_USERNAME_CLAIM: claim,
      },
    })
    await test.createOrganization('acme', 'alice@acme.example')
    return async (claims: object) => {
      const as = await signToken(key, { iss: issuer.url, sub: '7', ...claims })
      return (await test.send('GET', POLICIES, { as })).statusCode
    }
  }

  it('belongs to the user named by the claim, never by `sub`', async () => {
    const read = await open('preferred_username')

    expect(await read({ preferred_username: 'alice@acme.example' })).toBe(200)
    expect(await read({ sub: 'alice@acme.example' })).toBe(401)
    expect(await read({ preferred_username: ['alice@acme.example'] })).toBe(401)
  })

  it('requires a verified address for `email`', async () => {
    const read = await open('email')
    const email = 'alice@acme.example'

    expect(await read({ email, email_verified: true })).toBe(200)
    expect(await read({ email, email_verified: 'true' })).toBe(401)
    expect(await read({ email })).toBe(401)
  })

  it('ignores inherited members of objects', async () => {
    const read = await open('constructor')

    expect(await read({})).toBe(401)
  })
})

it('refuses external tokens while no issuer is configured', async () => {
  const issuer = await startTestIssuer()
  const key = await createKey('k1')
  issuer.publish(key)
  const test = await openTestServer()
  await test.createOrganization('acme', 'alice')
  const as = await signToken(key, { iss: issuer.url, sub: 'alice' })

  expect((await test.send('GET', POLICIES, { as })).statusCode).toBe(401)
  expect(issuer.seen).toEqual([])
})
