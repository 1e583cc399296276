import { tokenResponseSchema } from '@palisade/protocol'
import { beforeEach, describe, expect, it } from 'vitest'
import { openTestServer, type TestServer } from '../test-server.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

describe('POST /v2/auth/token', () => {
  let test: TestServer
  let alice: Awaited<ReturnType<TestServer['createOrganization']>> & { password: string }

  beforeEach(async () => {
    test = await openTestServer()
    const created = await test.createOrganization('acme', 'alice')
    alice = { ...created, password: created.password ?? '' }
  })

  const post = (payload: object) => test.send('POST', '/v2/auth/token', { payload })
  const members = (as: string) => test.send('GET', '/api/v1/orgs/acme/members', { as })

  async function createOrganizationToken(days = 1): Promise<{ id: string; token: string }> {
    const as = await test.signIn('alice', alice.password)
    const payload = {
      name: 'ci',
      permissions: ['organization:admin'],
      expires_in_days: days,
    }
    const response = await test.send('POST', '/api/v1/orgs/acme/access-tokens', { as, payload })
    expect(response.statusCode, response.body).toBe(201)
    return response.json()
  }

  it('accepts a password, a personal token and an organization token', async () => {
    const { token } = await createOrganizationToken()
    for (const payload of [
      { username: 'alice', password: alice.password },
      { identifier: 'alice', secret: alice.password },
      { username: 'alice', password: alice.personal_token },
      { identifier: 'acme', password: token },
    ]) {
      const response = await post(payload)

      expect(response.statusCode, response.body).toBe(200)
      const body = tokenResponseSchema.parse(response.json())
      expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 900 })
      expect(body.token).toBe(body.access_token)
      expect(response.headers['cache-control']).toBe('no-store')
      expect((await members(body.access_token)).statusCode).toBe(200)
    }
  })

  it('answers the same 401 for every wrong name or secret', async () => {
    const { token } = await createOrganizationToken()
    const strip = (body: { error: { request_id?: string } }) => {
      delete body.error.request_id
      return body
    }
    const answers = []
    for (const payload of [
      { username: 'alice', password: 'wrong' },
      { username: 'nobody', password: 'wrong' },
      { username: '', password: '' },
      { username: 'alice', password: '' },
      { username: 'alice', password: `${alice.personal_token}x` },
      { username: 'bob', password: alice.personal_token },
      { username: 'alice', password: token },
      { username: 'rival', password: token },
      { username: 'alice', password: 'pal_enr_0123456789' },
      { username: '\u0000', password: '\uD800' },
    ]) {
      const response = await post(payload)
      expect(response.statusCode, JSON.stringify(payload)).toBe(401)
      expect(response.headers['www-authenticate']).toBe('Bearer')
      answers.push(strip(response.json()))
    }
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(answers[0]).toMatchObject({ error: { code: 'unauthenticated' } })
  })

  it('answers 400 for both spellings of a field, neither, or an unknown member', async () => {
    for (const payload of [
      { username: 'alice', identifier: 'alice', password: 'x' },
      { username: 'alice', password: 'x', secret: 'x' },
      { username: 'alice' },
      { password: 'x' },
      {},
      { username: 'alice', password: 'x', remember: true },
      { username: 'alice', password: null },
      { username: 7, password: 'x' },
    ]) {
      const response = await post(payload)
      expect(response.statusCode, JSON.stringify(payload)).toBe(400)
      expect(response.json()).toMatchObject({ error: { code: 'invalid_argument' } })
    }
  })

  it('refuses bodies over 64 KiB', async () => {
    const fitting = await post({ username: 'alice', password: 'x'.repeat(65_000) })
    const tooLarge = await post({ username: 'alice', password: 'x'.repeat(66_000) })

    expect(fitting.statusCode).toBe(401)
    expect(tooLarge.statusCode).toBe(413)
    expect(tooLarge.json().error.message).toContain('65536 bytes')
  })

  it('issues tokens that expire after 15 minutes', async () => {
    const as = await test.signIn('alice', alice.personal_token)

    test.advance(15 * MINUTE_MS - 1_000)
    expect((await members(as)).statusCode).toBe(200)
    test.advance(1_000)
    expect((await members(as)).statusCode).toBe(401)
  })

  it('issues tokens that expire with their secret, and none for an expired secret', async () => {
    const { token } = await createOrganizationToken(1)
    test.advance(DAY_MS - 5 * MINUTE_MS)

    const response = await test.exchange('acme', token)
    expect(response.json()).toMatchObject({ expires_in: 300 })

    test.advance(5 * MINUTE_MS)
    expect((await members(response.json().access_token)).statusCode).toBe(401)
    expect((await test.exchange('acme', token)).statusCode).toBe(401)
  })

  it('ends issued tokens at once when their secret is revoked', async () => {
    const owner = await test.signIn('alice', alice.password)
    const { id, token } = await createOrganizationToken()
    const as = await test.signIn('acme', token)
    expect((await members(as)).statusCode).toBe(200)

    const revoked = await test.send('DELETE', `/api/v1/orgs/acme/access-tokens/${id}`, {
      as: owner,
    })

    expect(revoked.statusCode).toBe(204)
    expect((await members(as)).statusCode).toBe(401)
    expect((await test.exchange('acme', token)).statusCode).toBe(401)
    expect((await members(owner)).statusCode).toBe(200)
  })

  it('explains how to exchange a secret token that was sent as an access token', async () => {
    for (const [secret, example] of [
      [alice.personal_token, '{"username":"NAME","password":"pal_pat_…"}'],
      ['pal_pat_x', '{"username":"NAME","password":"pal_pat_…"}'],
      ['pal_oat_x', '{"identifier":"ORGANIZATION","secret":"pal_oat_…"}'],
    ] as const) {
      const response = await members(secret)
      expect(response.statusCode).toBe(401)
      expect(response.json().error.message).toContain('`POST /v2/auth/token`')
      expect(response.json().error.message).toContain(example)
    }
  })

  it('does not accept secrets as bearer tokens', async () => {
    for (const as of [alice.personal_token, alice.password, 'x', 'a.b.c'])
      expect((await members(as)).statusCode).toBe(401)
    for (const authorization of ['', 'Bearer', 'Basic YTpi', 'Bearer a b', 'bearer  '])
      expect(
        (await test.send('GET', '/api/v1/orgs/acme/members', { headers: { authorization } }))
          .statusCode,
      ).toBe(401)
  })
})
