import { listDevicesResponseSchema, type Device, type DeviceView } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { DeviceReportRecord } from '../../../../server/src/store/distribution-records.ts'
import { freshName } from '../../fresh-name.ts'
import { openOwner, type Owner } from '../../owner.ts'
import { enrolTestDevice, type TestDevice } from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const PASSWORD = 'a long enough password'
const MINUTE_MS = 60_000

let test: TestServer
let org: string
let acme: string
let owner: Owner

const atEnd = atEndOfTests()
beforeAll(async () => {
  test = await openTestServer(atEnd, { settings: { PALISADE_ACCESS_TOKEN_MINUTES: '60' } })
})
beforeEach(async () => {
  org = freshName('acme')
  acme = `/api/v1/orgs/${org}`
  owner = await openOwner(test, org, freshName('alice'))
})

const idOf = ({ enrolment }: TestDevice): string => enrolment.device_id
const enrol = (payload: object = {}) => enrolTestDevice(test, owner.as, org, payload)

/** Stores a report as a server writes it. */
function tell(device: TestDevice, report: Partial<DeviceReportRecord>): Promise<void> {
  const written = {
    device_id: idOf(device),
    reported_at: new Date(test.now()).toISOString(),
    revision: 1,
    state: 'fresh',
    error_code: null,
    error_detail: null,
    grant_id: null,
    grant_begun_at: null,
    proxy_enforcement: null,
    assurance: null,
    policy_digest: null,
    agent_version: '0.1.0',
    ...report,
  } as const
  return test.store.transaction((writer) => writer.deviceReports.put([written]))
}

describe('the list of devices', () => {
  async function list(query = '', as = owner.as) {
    const answer = await test.send('GET', `${acme}/devices${query}`, { as })
    expect(answer.statusCode, answer.body).toBe(200)
    return listDevicesResponseSchema.parse(answer.json())
  }
  const idsOf = async (query: string) => (await list(query)).data.map(({ id }) => id)
  const sorted = (...devices: TestDevice[]) => devices.map(idOf).toSorted()

  it('shows the devices under an observing default, by the teams of their users', async () => {
    const send = (method: 'POST' | 'PUT' | 'PATCH', url: string, payload?: object) =>
      test.send(method, `${acme}${url}`, { as: owner.as, ...(payload && { payload }) })
    const team = (await send('POST', '/teams', { name: 'careful' })).json().id
    const [bob, carl] = [freshName('bob'), freshName('carl')]
    for (const username of [bob, carl]) await send('POST', '/members', { username, role: 'member' })
    await send('PUT', `/teams/${team}/members/${carl}`)
    const devices = [await enrol({ user: bob }), await enrol({ user: carl }), await enrol()]
    const observing = async () => {
      const { data } = await list()
      return devices.map((one) => data.find(({ id }) => id === idOf(one))?.default)
    }
    expect(await observing()).toEqual([undefined, undefined, undefined])

    await send('PATCH', '', { default: 'observe' })
    expect(await observing()).toEqual(['observe', 'observe', 'observe'])
    await send('PATCH', `/teams/${team}`, { default: 'enforce' })
    expect(await observing()).toEqual(['observe', undefined, 'observe'])
    await send('PATCH', `/teams/${team}`, { default: 'observe' })
    await send('PATCH', '', { default: null })

    expect(await observing()).toEqual([undefined, 'observe', undefined])
  })

  it('shows the last report of each, and none for a device without one', async () => {
    const [loud, quiet] = [await enrol(), await enrol()]
    const now = new Date(test.now()).toISOString()
    const error = { error_code: 'mixed', error_detail: 'do not belong together' }
    await tell(loud, { revision: 7, state: 'rejected', ...error })

    const { data } = await list()

    const find = (device: TestDevice): Device | undefined =>
      data.find(({ id }) => id === idOf(device))
    expect(find(loud)).toEqual({
      id: idOf(loud),
      user: null,
      labels: [],
      created_at: now,
      reported_at: now,
      revision: 7,
      state: 'rejected',
      agent_version: '0.1.0',
      last_error: { code: 'mixed', detail: 'do not belong together' },
    })
    expect(Object.keys(find(quiet) ?? {})).toEqual(['id', 'user', 'labels', 'created_at'])
  })

  it('can be filtered by user, state, revision and label together', async () => {
    const bob = freshName('bob')
    await owner.addMember(bob, 'member', PASSWORD)
    const [one, two, three] = [await enrol({ user: bob }), await enrol(), await enrol()]
    await tell(one, { revision: 7 })
    await tell(two, { revision: 7, state: 'stale' })
    const payload = { labels: ['ci', 'x_1'] }
    await test.send('PATCH', `${acme}/devices/${idOf(two)}`, { as: owner.as, payload })

    expect(await idsOf(`?user=${bob}`)).toEqual([idOf(one)])
    expect(await idsOf('?state=stale')).toEqual([idOf(two)])
    expect(await idsOf('?revision=7')).toEqual(sorted(one, two))
    expect(await idsOf('?label=ci')).toEqual([idOf(two)])
    expect(await idsOf('?label=x_1&revision=7&state=stale')).toEqual([idOf(two)])
    expect(await idsOf('?label=c')).toEqual([])
    expect(await idsOf(`?user=${bob}&state=stale`)).toEqual([])
    expect(await idsOf('?revision=8')).toEqual([])
    expect(await idsOf('')).toEqual(sorted(one, two, three))
  })

  it('finds silent devices, except revoked ones', async () => {
    const [polled, reported, gone, silent] = [
      await enrol(),
      await enrol(),
      await enrol(),
      await enrol(),
    ]
    await test.send('DELETE', `${acme}/devices/${idOf(gone)}`, { as: owner.as })
    test.advance(10 * MINUTE_MS)
    const now = new Date(test.now()).toISOString()
    await test.store.transaction((writer) => writer.devicePolls.record(idOf(polled), now))
    await tell(reported, {})

    expect(await idsOf('?silent_for_seconds=599')).toEqual([idOf(silent)])
    expect(await idsOf('?silent_for_seconds=600')).toEqual([])
    test.advance(1_000)
    expect(await idsOf('?silent_for_seconds=0')).toEqual(sorted(polled, reported, silent))
  })

  it('has pages of filtered devices, without an empty last page', async () => {
    const devices = [await enrol(), await enrol(), await enrol(), await enrol(), await enrol()]
    const stale = [devices[0], devices[2], devices[3], devices[4]].filter(
      (each) => each !== undefined,
    )
    for (const each of stale) await tell(each, { state: 'stale' })

    const first = await list('?state=stale&page_size=2')
    const second = await list(`?state=stale&page_size=2&cursor=${first.next_cursor ?? ''}`)

    expect([first.data.length, second.data.length, second.next_cursor]).toEqual([2, 2, null])
    expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(sorted(...stale))
  })

  it.each([
    'state=great',
    'revision=-1',
    'revision=x',
    'silent_for_seconds=',
    'label=A B',
    'user=',
    'user=user:bob',
    'user=Bob',
  ])('refuses the filter %s', async (query) => {
    const answer = await test.send('GET', `${acme}/devices?${query}`, { as: owner.as })
    expect(answer.statusCode).toBe(400)
    expect(answer.json().error.field).toBe(query.split('=')[0])
  })

  it('does not show reports of another organization', async () => {
    const theirs = freshName('rival')
    const rival = await openOwner(test, theirs, freshName('rita'))
    await tell(await enrolTestDevice(test, rival.as, theirs), { revision: 9 })

    expect(await idsOf('?revision=9')).toEqual([])
  })
})

describe('the status of a revision', () => {
  const status = (revision: number | string, as: string = owner.as) =>
    test.send('GET', `${acme}/revisions/${revision}`, { as })
  const countsOf = async (revision: number) => {
    const answer = await status(revision)
    expect(answer.statusCode, answer.body).toBe(200)
    const { applied, rejected, pending, silent, rejected_by_code } = answer.json()
    return { counts: [applied, rejected, pending, silent], rejected_by_code }
  }
  const publish = async (name: string, scope: object = {}): Promise<number> => {
    const made = await test.send('POST', `/v2/orgs/${org}/governance/policies`, {
      as: owner.as,
      payload: { name, scope },
    })
    expect(made.statusCode, made.body).toBe(201)
    return (await test.send('GET', acme, { as: owner.as })).json().revision
  }
  async function poll(as: TestDevice): Promise<void> {
    const assigned = await test.send('GET', '/api/v1/device/view', { as })
    const { org, view } = assigned.json<DeviceView>().signed
    const url = `/api/v1/orgs/${org}/views/${view}/metadata/timestamp.json`
    expect((await test.send('GET', url, { as })).statusCode).toBe(200)
  }

  it('counts each live device once, by its own view at the revision', async () => {
    const bob = freshName('bob')
    await owner.addMember(bob, 'member', PASSWORD)
    const made = { as: owner.as, payload: { name: 'core' } }
    const team = (await test.send('POST', `${acme}/teams`, made)).json<{ id: string }>().id
    await test.send('PUT', `${acme}/teams/${team}/members/${bob}`, { as: owner.as })
    const [all, ofBob] = [await enrol(), await enrol({ user: bob })]
    const gone = await enrol()
    await test.send('DELETE', `${acme}/devices/${idOf(gone)}`, { as: owner.as })
    const first = await publish('everybody')
    for (const device of [all, ofBob]) await poll(device)
    await tell(all, { revision: first })
    await tell(ofBob, { revision: first })
    expect((await countsOf(first)).counts).toEqual([2, 0, 0, 0])

    const second = await publish('core alone', { teams: [team] })

    // The other device has all policies that this revision contains for it.
    expect(await countsOf(second)).toEqual({ counts: [1, 0, 1, 0], rejected_by_code: [] })
    expect((await countsOf(first)).counts).toEqual([2, 0, 0, 0])
    test.advance(1)
    await tell(ofBob, { revision: first, error_code: 'not_compilable' })
    expect(await countsOf(second)).toEqual({
      counts: [1, 1, 0, 0],
      rejected_by_code: [{ code: 'not_compilable', devices: 1 }],
    })
    test.advance(1)
    await tell(ofBob, { revision: second })
    expect((await countsOf(second)).counts).toEqual([2, 0, 0, 0])
    const third = await publish('everybody again')
    expect((await countsOf(third)).counts).toEqual([0, 0, 2, 0])
    test.advance(16 * MINUTE_MS)
    expect((await countsOf(third)).counts).toEqual([0, 0, 0, 2])
    // Its view at an earlier revision is unknown, so it is not counted.
    expect((await countsOf(second)).counts).toEqual([1, 0, 0, 1])
  })

  it('does not count a device without usable policies as enforcing it', async () => {
    const [broken, old, new_] = [await enrol(), await enrol(), await enrol()]
    const revision = await publish('everybody')
    await tell(broken, { revision, state: 'unsupported' })
    await tell(old, { revision: null, state: 'corrupt' })
    await tell(new_, { revision: null, state: 'never_loaded' })

    expect(await countsOf(revision)).toEqual({
      counts: [0, 2, 1, 0],
      rejected_by_code: [
        { code: 'corrupt', devices: 1 },
        { code: 'unsupported', devices: 1 },
      ],
    })
  })

  it('exists for every revision up to the current one', async () => {
    const newest = await publish('everybody')

    expect((await status(newest)).json()).toMatchObject({ current_revision: newest, devices: 0 })
    expect((await status(0)).statusCode).toBe(200)
    for (const none of [newest + 1, '-1', '01', '1.0', 'x', '9'.repeat(16)])
      expect((await status(none)).statusCode, String(none)).toBe(404)
  })

  it('is shown to readers of policies', async () => {
    const rival = await openOwner(test, freshName('rival'), freshName('rita'))
    const editor = await owner.addMember(freshName('ed'), 'editor', PASSWORD)
    const auditor = await owner.addMember(freshName('audrey'), 'auditor', PASSWORD)
    const member = await owner.addMember(freshName('mia'), 'member', PASSWORD)
    const token = await owner.organizationToken(['audit:read', 'organization:admin'])

    const callers = [owner.as, editor, auditor, member, token, rival.as]
    const statuses = []
    for (const as of callers) statuses.push((await status(0, as)).statusCode)
    expect(statuses).toEqual([200, 200, 200, 403, 403, 404])
    expect((await test.send('GET', `${acme}/revisions/0`)).statusCode).toBe(401)
  })
})
