import {
  BUNDLE_TYPE,
  bundleSchema,
  enrolmentSchema,
  type Bundle,
  type Enrolment,
} from '@palisade/protocol'
import { compactVerify, createLocalJWKSet } from 'jose'
import { beforeEach, describe, expect, it } from 'vitest'
import { openTestServer, type TestServer } from '../test-server.ts'

const ACME = '/api/v1/orgs/acme'
const POLICIES = '/v2/orgs/acme/governance/policies'
const BUNDLE = '/api/v1/device/bundle'
const HOUR_MS = 60 * 60 * 1000
const PASSWORD = 'a long enough password'

describe('a device', () => {
  let test: TestServer
  let alice: string
  let bob: string
  let team: string

  beforeEach(async () => {
    test = await openTestServer()
    const created = await test.createOrganization('acme', 'alice')
    alice = await test.signIn('alice', created.personal_token)
    await post(`${ACME}/members`, { username: 'bob', role: 'member', password: PASSWORD })
    bob = await test.signIn('bob', PASSWORD)
    team = (await post(`${ACME}/teams`, { name: 'backend' })).id
  })

  async function post(url: string, payload: object): Promise<{ id: string }> {
    const response = await test.send('POST', url, { as: alice, payload })
    expect(response.statusCode, response.body).toBe(201)
    return response.json()
  }

  async function createPolicy(name: string, host: string, teams: string[] = []): Promise<string> {
    const { id } = await post(POLICIES, { name, scope: { teams } })
    await post(`${POLICIES}/${id}/rules`, {
      name,
      actions: ['connect:tcp'],
      decision: 'allow',
      resources: [host],
    })
    return id
  }

  const enrol = (as: string, payload: object, org = 'acme') =>
    test.send('POST', `/api/v1/orgs/${org}/devices`, { as, payload })

  async function enrolled(user?: string): Promise<Enrolment> {
    const response = await enrol(alice, user === undefined ? {} : { user })
    expect(response.statusCode, response.body).toBe(201)
    return enrolmentSchema.parse(response.json())
  }

  const fetchBundle = (device: Enrolment, headers: Record<string, string> = {}) =>
    test.send('GET', BUNDLE, { as: device.device_token, headers })

  async function verified(device: Enrolment): Promise<Bundle> {
    const response = await fetchBundle(device)
    expect(response.statusCode, response.body).toBe(200)
    expect(response.headers['content-type']).toBe('application/jose')
    const keys = createLocalJWKSet(device.bundle_keys)
    const { payload, protectedHeader } = await compactVerify(response.body, keys)
    expect(protectedHeader).toMatchObject({ alg: 'EdDSA', typ: BUNDLE_TYPE })
    return bundleSchema.parse(JSON.parse(Buffer.from(payload).toString()))
  }

  describe('is enrolled', () => {
    it('by an administrator for any member, or for nobody', async () => {
      expect(await enrolled('bob')).toMatchObject({ org: 'acme', user: 'bob' })
      expect(await enrolled()).toMatchObject({ org: 'acme', user: null })
      expect(await enrolled()).toMatchObject({ server: 'http://127.0.0.1:8420' })
    })

    it('by a member for himself alone', async () => {
      expect((await enrol(bob, { user: 'bob' })).statusCode).toBe(201)
      expect((await enrol(bob, { user: 'alice' })).statusCode).toBe(403)
      expect((await enrol(bob, { user: 'nobody' })).statusCode).toBe(403)
      expect((await enrol(bob, {})).statusCode).toBe(403)
    })

    it('never for a stranger, by a stranger, or without governance', async () => {
      const rival = await test.createOrganization('rival', 'rita')
      const rita = await test.signIn('rita', rival.personal_token)
      await test.createOrganization('poor', 'alice', false)

      const stranger = await enrol(alice, { user: 'rita' })
      expect([stranger.statusCode, stranger.json().error.field]).toEqual([400, 'user'])
      expect((await enrol(rita, {})).statusCode).toBe(404)
      expect((await enrol('x', {})).statusCode).toBe(401)
      expect((await enrol(alice, {}, 'poor')).statusCode).toBe(403)
      expect((await enrol(alice, { user: null })).statusCode).toBe(400)
      expect((await enrol(alice, { extra: 1 })).statusCode).toBe(400)
    })
  })

  describe('gets', () => {
    it('the organization-wide policies and those of its user’s teams, and no others', async () => {
      const everyone = await createPolicy('everyone', 'everyone.example')
      const backend = await createPolicy('backend', 'secret.example', [team])
      const [ofBob, ofAlice, ofNobody] = [
        await enrolled('bob'),
        await enrolled('alice'),
        await enrolled(),
      ]
      await test.send('PUT', `${ACME}/teams/${team}/members/bob`, { as: alice })

      const bundle = await verified(ofBob)
      expect(bundle.policies.map(({ id }) => id).toSorted()).toEqual([everyone, backend].toSorted())
      expect(bundle).toMatchObject({
        org: 'acme',
        user: 'bob',
        user_teams: [team],
        device_id: ofBob.device_id,
        settings: { resolve_unlisted_names: false },
      })
      const fetched = await test.send('GET', `${POLICIES}/${backend}`, { as: alice })
      expect(bundle.policies.find(({ id }) => id === backend)).toEqual(fetched.json())
      for (const device of [ofAlice, ofNobody]) {
        const other = await verified(device)
        expect(other.policies.map(({ id }) => id)).toEqual([everyone])
        expect(JSON.stringify(other)).not.toContain('secret.example')
      }
    })

    it('nothing of another organization', async () => {
      await test.createOrganization('rival', 'alice')
      await test.send('POST', '/v2/orgs/rival/governance/policies', {
        as: alice,
        payload: { name: 'of the rival' },
      })

      expect((await verified(await enrolled('alice'))).policies).toEqual([])
    })

    it('a new bundle after every change, with a higher revision', async () => {
      const device = await enrolled('bob')
      const first = await verified(device)

      const id = await createPolicy('web', 'example.com')
      const second = await verified(device)
      await test.send('PATCH', `${POLICIES}/${id}`, {
        as: alice,
        payload: { scope: { teams: [team] } },
      })
      const third = await verified(device)

      expect(second.policies).toHaveLength(1)
      expect(third.policies).toHaveLength(0)
      expect(second.revision).toBeGreaterThan(first.revision)
      expect(third.revision).toBeGreaterThan(second.revision)
    })

    it('304 while nothing has changed within the hour', async () => {
      const device = await enrolled('bob')
      const first = await fetchBundle(device)
      const etag = String(first.headers.etag)
      expect(etag).toMatch(/^"[\w-]+"$/)

      for (const known of [etag, `"other", ${etag}`, '*']) {
        const again = await fetchBundle(device, { 'if-none-match': known })
        expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag])
      }
      expect((await fetchBundle(device, { 'if-none-match': '"other"' })).body).toBe(first.body)
      await createPolicy('web', 'example.com')
      expect((await fetchBundle(device, { 'if-none-match': etag })).statusCode).toBe(200)
    })

    it('a fresh signature every hour, good for a day and ending after a week', async () => {
      const device = await enrolled('bob')
      const etag = String((await fetchBundle(device)).headers.etag)
      const first = await verified(device)
      const at = (instant: string) => Date.parse(instant)
      expect(at(first.stale_at) - at(first.issued_at)).toBe(24 * HOUR_MS)
      expect(at(first.expires_at) - at(first.issued_at)).toBe(7 * 24 * HOUR_MS)

      test.advance(HOUR_MS)

      expect((await fetchBundle(device, { 'if-none-match': etag })).statusCode).toBe(200)
      const second = await verified(device)
      expect(at(second.issued_at) - at(first.issued_at)).toBe(HOUR_MS)
      expect(second.revision).toBe(first.revision)
    })

    it('401 for a token that is not its own', async () => {
      const device = await enrolled('bob')
      const flipped = device.device_token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))

      for (const as of [flipped, alice, 'pal_dev_', 'x'])
        expect((await test.send('GET', BUNDLE, { as })).statusCode).toBe(401)
      expect((await test.send('GET', BUNDLE)).statusCode).toBe(401)
      const elsewhere = await test.send('GET', `${ACME}/members`, { as: device.device_token })
      expect(elsewhere.statusCode).toBe(401)
    })

    it('401 while its user is no member, however the membership ended', async () => {
      const device = await enrolled('bob')

      await test.store.transaction((writer) => writer.memberships.delete('acme', 'bob'))

      expect((await fetchBundle(device)).statusCode).toBe(401)
    })

    it('401 once it is revoked or its user has left, also when he comes back', async () => {
      const [ofBob, ofNobody] = [await enrolled('bob'), await enrolled()]
      await fetchBundle(ofBob)

      await test.send('DELETE', `${ACME}/members/bob`, { as: alice })
      expect((await fetchBundle(ofBob)).statusCode).toBe(401)
      await post(`${ACME}/members`, { username: 'bob', role: 'member' })
      expect((await fetchBundle(ofBob)).statusCode).toBe(401)

      expect((await fetchBundle(ofNobody)).statusCode).toBe(200)
      await test.store.transaction((writer) =>
        writer.devices.revoke(ofNobody.device_id, '2026-11-21T08:00:00.000Z'),
      )
      expect((await fetchBundle(ofNobody)).statusCode).toBe(401)
    })
  })
})
