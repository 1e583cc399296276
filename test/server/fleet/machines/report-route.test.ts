import type { DeviceReport } from '@palisade/protocol'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { freshName } from '../../fresh-name.ts'
import { openOwner, type Owner } from '../../owner.ts'
import { enrolTestDevice, fetchDeviceToken, headersOf, type TestDevice } from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const URL = '/api/v1/device/report'
const GOOD: DeviceReport = { revision: 3, state: 'fresh', agent_version: '0.1.0' }
const GRANT = { grant_id: 'g1', begun_at: '2026-11-21T08:00:00Z' }
const grantOf = (more: object) => ({ ...GOOD, break_glass: { ...GRANT, ...more } })
const ALL = { after: '', window: 100, limit: 100 }
const WITNESSES = 'witnesses'
const WRITE_INTERVAL_MS = 1_000
const PATIENCE = { interval: 1 }

describe('a report of a device', () => {
  let test: TestServer
  let org: string
  let alice: string
  let owner: Owner
  let device: TestDevice

  let witness: TestDevice
  let flushes = 0

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    // Reports are written by `flush` alone.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    test = await openTestServer(atEnd)
    afterAll(() => void vi.useRealTimers())
    const { as } = await openOwner(test, WITNESSES, freshName('wendy'))
    witness = await enrolTestDevice(test, as, WITNESSES)
  })
  beforeEach(async () => {
    ;[org, alice] = [freshName('acme'), freshName('alice')]
    owner = await openOwner(test, org, alice)
    device = await enrolTestDevice(test, owner.as, org)
  })

  const report = (payload: object = GOOD, as: TestDevice | string = device) =>
    test.send('POST', URL, { as, payload })
  const kept = (of = org) =>
    test.store.read(async (reader) => {
      const { devices } = await reader.devices.search(of, {}, ALL)
      return reader.deviceReports.list(devices.map(({ id }) => id))
    })
  /** Lets the server write the reports that it received, and waits for it. */
  async function flush(): Promise<void> {
    flushes += 1
    const as = { ...witness, token: await fetchDeviceToken(test, witness.prove) }
    expect((await report({ ...GOOD, revision: flushes }, as)).statusCode).toBe(200)
    vi.advanceTimersByTime(WRITE_INTERVAL_MS)
    const written = async () => (await kept(WITNESSES)).get(idOf(witness))?.revision
    await expect.poll(written, PATIENCE).toBe(flushes)
  }
  const idOf = ({ enrolment }: TestDevice) => enrolment.device_id

  it('is stored with its time of arrival, the newest of each device', async () => {
    const other = await enrolTestDevice(test, owner.as, org)
    const error = { code: 'not_compilable', detail: 'rule `x` is broken' }
    await report()
    await report({ state: 'never_loaded', agent_version: '0.1.0' }, other)
    test.advance(1_000)
    const second = await report({ ...GOOD, state: 'rejected', error })

    const reported_at = new Date(test.now()).toISOString()
    expect([second.statusCode, second.json()]).toEqual([200, { reported_at }])
    await flush()
    expect((await kept()).size).toBe(2)
    expect((await kept()).get(idOf(device))).toEqual({
      device_id: idOf(device),
      reported_at,
      revision: 3,
      state: 'rejected',
      error_code: error.code,
      error_detail: error.detail,
      grant_id: null,
      grant_begun_at: null,
      proxy_enforcement: null,
      assurance: null,
      policy_digest: null,
      agent_version: '0.1.0',
    })
    expect((await kept()).get(idOf(other))).toMatchObject({
      revision: null,
      state: 'never_loaded',
      error_code: null,
      error_detail: null,
    })
  })

  it('keeps the last self-probe and the digest, and shows them with the device', async () => {
    const enforcement = { proxy: 'failed' }
    const policy_digest = 'd1'.repeat(32)
    const assurance = 'linux-sandbox'
    const members = { enforcement, assurance, policy_digest }
    expect((await report({ ...GOOD, ...members })).statusCode).toBe(200)

    await flush()
    expect((await kept()).size).toBe(1)
    const listed = await test.send('GET', `/api/v1/orgs/${org}/devices`, { as: owner.as })
    expect(listed.json()).toMatchObject({ data: [members] })
    test.advance(1_000)
    await report()
    const shown = async () =>
      (await test.send('GET', `/api/v1/orgs/${org}/devices`, { as: owner.as })).json<{
        data: object[]
      }>().data[0]
    await flush()
    expect(await shown()).not.toHaveProperty('enforcement')
    expect(await shown()).not.toHaveProperty('policy_digest')
    expect(await shown()).not.toHaveProperty('assurance')
  })

  it('leaves an event when the self-probe turns to failing, and when it passes again', async () => {
    const probe = async (proxy: string, as = device) => {
      test.advance(1_000)
      expect((await report({ ...GOOD, enforcement: { proxy } }, as)).statusCode).toBe(200)
    }
    const kinds = async () => {
      const { data } = (
        await test.send('GET', `/api/v1/orgs/${org}/events`, { as: owner.as })
      ).json<{
        data: { kind: string; subject: { id: string } }[]
      }>()
      return data
        .filter(({ kind, subject }) => kind.includes('probe') && subject.id === idOf(device))
        .map(({ kind }) => kind)
    }
    await probe('in_force')
    await report()
    expect(await kinds()).toEqual([])
    await probe('failed')
    await probe('failed')
    expect(await kinds()).toEqual(['device.probe_failed'])
    await probe('in_force')
    expect(await kinds()).toEqual(['device.probe_failed', 'device.probe_passed'])

    const other = await enrolTestDevice(test, owner.as, org)
    await probe('failed', other)
    for (let turn = 0; turn < 3; turn += 1) {
      await probe('failed')
      await probe('in_force')
    }
    expect(await kinds()).toHaveLength(2)
    await probe('failed')
    test.advance(61 * 60_000)
    owner = { ...owner, as: await test.signIn(alice, owner.personalToken) }
    device = { ...device, token: await fetchDeviceToken(test, device.prove) }
    // A machine that failed within the hour is told of by a later report.
    await probe('failed', device)
    expect(await kinds()).toEqual([
      'device.probe_failed',
      'device.probe_passed',
      'device.probe_failed',
    ])
  })

  it.each([
    { enforcement: { proxy: 'maybe' } },
    { enforcement: {} },
    { enforcement: { proxy: 'failed', other: 'failed' } },
    { enforcement: null },
    { assurance: 'linux' },
    { assurance: null },
    { policy_digest: 'D1'.repeat(32) },
    { policy_digest: 'd1' },
  ])('is refused with %j', async (more) => {
    expect((await report({ ...GOOD, ...more })).statusCode).toBe(400)
  })

  it('is written by a stopping server, and updates the last contact', async () => {
    const stopping = await openTestServer()
    const { as } = await openOwner(stopping, org, alice)
    const theirs = await enrolTestDevice(stopping, as, org)
    const told = await stopping.send('POST', URL, { as: theirs, payload: GOOD })
    expect(told.statusCode).toBe(200)

    await stopping.server.close()

    const [id, { store }] = [idOf(theirs), stopping]
    const reports = await store.read((reader) => reader.deviceReports.list([id]))
    expect([...reports.keys()]).toEqual([id])
    const polls = await store.read((reader) => reader.devicePolls.list([id]))
    expect([...polls.keys()]).toEqual([id])
  })

  it('belongs to the sending device and its organization', async () => {
    const theirs = freshName('rival')
    const rival = await openOwner(test, theirs, freshName('rita'))
    const foreign = await enrolTestDevice(test, rival.as, theirs)

    await report(GOOD, foreign)
    await flush()

    expect((await kept()).size).toBe(0)
    expect([...(await kept(theirs)).keys()]).toEqual([idOf(foreign)])
  })

  it.each([
    ['an unknown member', { ...GOOD, org: 'acme' }],
    ['another device', { ...GOOD, device_id: 'd2' }],
    ['an unknown state', { ...GOOD, state: 'great' }],
    ['no state', { revision: 3, agent_version: '1' }],
    ['a revision of null', { ...GOOD, revision: null }],
    ['a negative revision', { ...GOOD, revision: -1 }],
    ['a revision beyond 53 bits', { ...GOOD, revision: 2 ** 53 }],
    ['a broken revision', { ...GOOD, revision: 1.5 }],
    ['a version of two lines', { ...GOOD, agent_version: '1\n2' }],
    ['a version with a bidirectional override', { ...GOOD, agent_version: '1\u202e2' }],
    ['a long version', { ...GOOD, agent_version: 'v'.repeat(65) }],
    ['an empty version', { ...GOOD, agent_version: '' }],
    ['an invalid code', { ...GOOD, error: { code: 'Not a code', detail: '' } }],
    ['a long code', { ...GOOD, error: { code: 'c'.repeat(65), detail: '' } }],
    ['a detail with a terminal escape', { ...GOOD, error: { code: 'c', detail: '\u001b[2J' } }],
    ['a detail with a lone surrogate', { ...GOOD, error: { code: 'c', detail: '\ud800' } }],
    ['a long detail', { ...GOOD, error: { code: 'c', detail: 'd'.repeat(513) } }],
    ['a grant with an invalid id', grantOf({ grant_id: 'g 1' })],
    ['a grant with an invalid start', grantOf({ begun_at: 'now' })],
    ['an unknown member of a grant', grantOf({ until: GRANT.begun_at })],
    ['an unknown member of an error', { ...GOOD, error: { code: 'c', detail: '', stack: '' } }],
  ])('is refused with %s', async (_title, payload) => {
    const refused = await report(payload)

    expect([refused.statusCode, refused.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_argument' } },
    ])
    await flush()
    expect((await kept()).size).toBe(0)
  })

  it('is refused above the maximum size', async () => {
    const detail = 'd'.repeat(9_000)

    expect((await report({ ...GOOD, error: { code: 'c', detail } })).statusCode).toBe(413)
  })

  it('is refused from anyone but a live device, before it is parsed', async () => {
    const id = idOf(device)
    const unproven = { authorization: headersOf(device, 'POST', URL).authorization }
    const bad = { state: 'great' }
    expect((await test.send('POST', URL, { payload: bad })).statusCode).toBe(401)
    expect((await report(bad, owner.as)).statusCode).toBe(401)
    const withoutProof = await test.send('POST', URL, { payload: bad, headers: unproven })
    expect(withoutProof.statusCode).toBe(401)
    await test.send('DELETE', `/api/v1/orgs/${org}/devices/${id}`, { as: owner.as })

    expect((await report(bad)).statusCode).toBe(401)
    await flush()
    expect((await kept()).size).toBe(0)
  })

  it('is refused in an organization without governance', async () => {
    await test.store.transaction((writer) => writer.organizations.updateEntitled(org, false))

    expect((await report()).statusCode).toBe(403)
  })
})
