import type { DeviceView } from '@palisade/protocol'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { raiseRevisions } from '../../../server/src/operations/backup/raise-revisions.ts'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { enrolTestDevice } from '../test-device.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { openViewDevice, type ViewDevice } from './view-device.ts'

const HOUR_MS = 60 * 60 * 1000
/** Lifetime in seconds. */
const lifeOf = (issued: string, expires: string): number =>
  (Date.parse(expires) - Date.parse(issued)) / 1000

describe('a view', () => {
  const undo: (() => void | Promise<void>)[] = []
  let test: TestServer
  let count = 0
  /** Each test has its own organization. */
  let org: string
  let api: string
  let owner: string
  let team: string

  beforeAll(async () => {
    test = await openTestServer((step) => undo.push(step))
  })
  afterAll(async () => {
    for (const step of undo.toReversed()) await step()
  })

  beforeEach(async () => {
    org = `acme-${(count += 1)}`
    api = `/api/v1/orgs/${org}`
    const { personal_token } = await test.createOrganization(org, `owner-${count}`)
    owner = await test.signIn(`owner-${count}`, personal_token)
    await post(`${api}/members`, { username: bob(), role: 'member' })
    team = (await post(`${api}/teams`, { name: 'backend' })).id
    await createPolicy('everybody', 'example.com')
    await createPolicy('backend only', 'db.example.com', [team])
  })

  const bob = () => `bob-${count}`

  async function post(url: string, payload: object): Promise<{ id: string }> {
    const response = await test.send('POST', url, { as: owner, payload })
    expect(response.statusCode, response.body).toBe(201)
    return response.json()
  }

  async function createPolicy(name: string, host: string, teams: string[] = []): Promise<string> {
    const policies = `/v2/orgs/${org}/governance/policies`
    const { id } = await post(policies, { name, scope: { teams } })
    const rule = { name, actions: ['connect:tcp'], decision: 'allow', resources: [host] }
    await post(`${policies}/${id}/rules`, rule)
    return id
  }

  const join = () => test.send('PUT', `${api}/teams/${team}/members/${bob()}`, { as: owner })
  const enrol = (user?: string) =>
    enrolTestDevice(test, owner, org, user === undefined ? {} : { user })
  const enrolled = async (user?: string): Promise<ViewDevice> =>
    openViewDevice(test, await enrol(user))
  const names = async (device: ViewDevice) => (await device.policies()).map(({ name }) => name)

  it('shows organization-wide policies and those of the teams of its user', async () => {
    const token = await enrol(bob())
    const before = await openViewDevice(test, token)
    expect(await names(before)).toEqual(['everybody'])

    await join()

    expect((await before.get('metadata/timestamp.json')).statusCode).toBe(404)
    const after = await openViewDevice(test, token)
    expect(after.view).not.toBe(before.view)
    expect((await names(after)).toSorted()).toEqual(['backend only', 'everybody'])
  })

  it('is shared by machines whose users have the same teams', async () => {
    const [bobs, nobodys] = [await enrolled(bob()), await enrolled()]

    expect(bobs.view).toBe(nobodys.view)
    expect(bobs.view).toMatch(/^[0-9a-f]{32}$/)
    expect((await bobs.get('metadata/timestamp.json')).body).toBe(
      (await nobodys.get('metadata/timestamp.json')).body,
    )
  })

  it('describes each document by length, hash, mode, revision and schema alone', async () => {
    await join()
    const device = await enrolled(bob())

    const { targets, ...signed } = await device.targets()

    expect(signed).toMatchObject({
      'x-org': org,
      'x-view': device.view,
      'x-settings': {
        expires_after_seconds: 604_800,
        fresh_for_seconds: 86_400,
        poll_seconds: 300,
        resolve_unlisted_names: false,
      },
    })
    for (const [name, { length, hashes, custom }] of Object.entries(targets)) {
      const answer = await device.get(`targets/${name.replace('/', `/${hashes.sha256}.`)}`)
      expect(answer.rawPayload.byteLength).toBe(length)
      expect(createHash('sha256').update(answer.rawPayload).digest('hex')).toBe(hashes.sha256)
      expect(answer.json()).not.toHaveProperty('scope')
      expect(custom).toMatchObject({ mode: 'enforce', schema: 1 })
    }
    expect(Object.keys(targets)).toHaveLength(2)
  })

  it('has a new snapshot only at the next poll after a change of a policy', async () => {
    const device = await enrolled()
    const first = await device.timestamp()
    expect(await device.timestamp()).toEqual(first)

    await createPolicy('more', 'more.example.com')

    const second = await device.timestamp()
    expect(second.version).toBeGreaterThan(first.version)
    expect(second.meta['snapshot.json'].version).toBeGreaterThan(
      first.meta['snapshot.json'].version,
    )
    expect((await names(device)).toSorted()).toEqual(['everybody', 'more'])
  })

  it('is signed with versions above those of a lost database after a restore', async () => {
    const device = await enrolled(bob())
    const base = await device.timestamp()
    const { version } = await device.targets()
    const now = () => new Date(test.now())
    test.advance(1000)

    await raiseRevisions(createAuditedStore({ store: test.store, now }), test.now())

    const later = Math.floor(test.now() / 1000)
    const restored = await device.timestamp()
    expect(version).toBeLessThan(later)
    expect(base.version).toBeLessThan(later)
    expect(restored.version).toBe(later)
    expect(restored.meta['snapshot.json'].version).toBe(later)
    expect((await device.targets()).version).toBe(later)
  })

  it('does not change with a policy of another team', async () => {
    const device = await enrolled()
    const { body } = await device.get('metadata/timestamp.json')

    await createPolicy('more of backend', 'queue.example.com', [team])

    expect((await device.get('metadata/timestamp.json')).body).toBe(body)
  })

  it('follows a setting of the organization', async () => {
    const device = await enrolled()
    await device.targets()

    await test.send('PATCH', api, { as: owner, payload: { resolve_unlisted_names: true } })

    expect((await device.targets())['x-settings']).toMatchObject({ resolve_unlisted_names: true })
  })

  it('names the records to upload, and nothing while there are none', async () => {
    const device = await enrolled()
    const before = (await device.targets())['x-settings']
    const evidence = { upload: 'full', path_depth: 1 }

    await test.send('PATCH', api, { as: owner, payload: { evidence } })

    expect((await device.targets())['x-settings']).toMatchObject({
      evidence: { ...evidence, sample_percent: 10, programs: false, users: false },
    })
    await test.send('PATCH', api, { as: owner, payload: { evidence: { upload: 'off' } } })
    expect({ ...(await device.targets())['x-settings'], revision: 0 }).toEqual({
      ...before,
      revision: 0,
    })
    expect(before).not.toHaveProperty('evidence')
  })

  it('has the freshness, expiry and offline hosts that the organization chose', async () => {
    const token = await enrol()
    const device = await openViewDevice(test, token)
    await device.targets()
    const distribution = {
      fresh_for_seconds: 3600,
      expires_after_seconds: 7200,
      offline_allow: ['vpn.example.com:443'],
    }

    await test.send('PATCH', api, { as: owner, payload: { distribution } })

    expect((await device.targets())['x-settings']).toMatchObject(distribution)
    const timestamp = await device.timestamp()
    expect(lifeOf(timestamp['x-issued'], timestamp.expires)).toBe(3600)
    const assigned = await test.send('GET', '/api/v1/device/view', { as: token })
    const { issued, expires } = assigned.json<DeviceView>().signed
    expect(lifeOf(issued, expires)).toBe(3600)

    // A machine that misses two renewals is not yet stale.
    const versions = new Set<number>()
    for (let minute = 0; minute < 60; minute += 5) {
      test.advance(5 * 60_000)
      const { version, expires: until } = await device.timestamp()
      versions.add(version)
      expect(Date.parse(until)).toBeGreaterThan(
        Date.parse(timestamp['x-issued']) + (minute + 45) * 60_000,
      )
    }
    // Every quarter of an hour, at the view's own minute.
    expect([4, 5]).toContain(versions.size)
  })

  it('answers 304 to a machine with the timestamp, until the next hour', async () => {
    const device = await enrolled()
    const { headers } = await device.get('metadata/timestamp.json')
    const condition = { 'if-none-match': String(headers.etag) }

    const again = await device.get('metadata/timestamp.json', condition)
    expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', headers.etag])

    test.advance(HOUR_MS)

    const later = await device.get('metadata/timestamp.json', condition)
    expect(later.statusCode).toBe(200)
    expect(later.headers.etag).not.toBe(headers.etag)
  })

  it('allows caching of files named by version or hash, but not of the timestamp', async () => {
    const device = await enrolled()
    const { version } = (await device.timestamp()).meta['snapshot.json']
    const control = async (path: string) => (await device.get(path)).headers['cache-control']

    for (const path of [`metadata/${version}.snapshot.json`, 'metadata/1.root.json'])
      expect(await control(path)).toBe('private, max-age=31536000, immutable')
    expect(await control('metadata/timestamp.json')).toBe('private, no-cache')
  })

  it('serves only signed files, under their exact names', async () => {
    const device = await enrolled()
    await device.timestamp()

    for (const path of [
      'metadata/2.root.json',
      'metadata/01.root.json',
      'metadata/root.json',
      'metadata/-1.root.json',
      'metadata/99999999999999999999.root.json',
      'metadata/snapshot.json',
      'metadata/1.snapshot.json',
      'metadata/..%2Ftimestamp.json',
      'metadata/%25.targets.json',
      'targets/policies/x.json',
      `targets/policies/${'0'.repeat(64)}.pol_1.json`,
    ])
      expect((await device.get(path)).statusCode, path).toBe(404)
  })

  it('is 404 for a machine of another team or organization, like its files', async () => {
    await test.createOrganization(`rival-${count}`, `rita-${count}`)
    await join()
    const [own, other] = [await enrolled(bob()), await enrolled()]
    const [target] = Object.entries((await own.targets()).targets).at(-1) ?? []
    const { version } = (await own.timestamp()).meta['snapshot.json']
    const files = [
      'metadata/timestamp.json',
      'metadata/1.root.json',
      `metadata/${version}.snapshot.json`,
    ]
    const token = await enrol()

    for (const file of [...files, `targets/${target}`])
      for (const base of [
        own.base,
        other.base.replace(org, `rival-${count}`),
        other.base.replace(org, org.toUpperCase()),
      ]) {
        const answer = await test.send('GET', `${base}/${file}`, { as: token })
        expect(answer.statusCode, `${base}/${file}`).toBe(404)
      }
  })

  it('serves no document of another view of the organization', async () => {
    await join()
    const [own, other] = [await enrolled(bob()), await enrolled()]
    const foreign = Object.entries((await own.targets()).targets).map(
      ([name, { hashes }]) => `targets/${name.replace('/', `/${hashes.sha256}.`)}`,
    )
    await other.timestamp()

    const statuses = await Promise.all(
      foreign.map(async (path) => (await other.get(path)).statusCode),
    )

    // The policy for everybody is in both.
    expect(statuses.filter((status) => status === 404)).toHaveLength(1)
    expect(statuses).toHaveLength(2)
  })

  it('refuses a request without a token or with another kind of token', async () => {
    const device = await enrolled()
    const url = `${device.base}/metadata/timestamp.json`

    expect((await test.send('GET', url)).statusCode).toBe(401)
    expect((await test.send('GET', url, { as: owner })).statusCode).toBe(401)
  })

  it('refuses a revoked device from its next request on', async () => {
    const enrolled = await enrol()
    const device = await openViewDevice(test, enrolled)
    await device.timestamp()

    const { device_id } = enrolled.enrolment
    await test.send('DELETE', `${api}/devices/${device_id}`, { as: owner })

    for (const path of ['metadata/timestamp.json', 'metadata/1.root.json'])
      expect((await device.get(path)).statusCode).toBe(401)
  })

  it('costs an up-to-date machine at most 700 bytes, request and answer together', async () => {
    const machine = await enrol()
    const device = await openViewDevice(test, machine)
    const { headers } = await device.get('metadata/timestamp.json')
    await test.server.app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = new URL(test.server.origin())
    const request = [
      `GET ${device.base}/metadata/timestamp.json HTTP/1.1`,
      `host: 127.0.0.1:${port}`,
      'connection: keep-alive',
      `authorization: DPoP ${machine.token}`,
      `if-none-match: ${String(headers.etag)}`,
      'accept: */*',
      'accept-language: *',
      'sec-fetch-mode: cors',
      'user-agent: node',
      'accept-encoding: gzip, deflate',
      '\r\n',
    ].join('\r\n')
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(request)

    const [answer] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()

    expect(answer.toString()).toMatch(/^HTTP\/1\.1 304 .*\r\n\r\n$/s)
    expect(request.length + answer.byteLength).toBeLessThanOrEqual(700)
  })
})
