import { listDevicesResponseSchema, type DeviceView, type Enrolment } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freshName } from '../../fresh-name.ts'
import { openOwner, type Owner } from '../../owner.ts'
import { enrolTestDevice, type TestDevice } from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const PASSWORD = 'a long enough password'
const UNKNOWN = '00000000-0000-4000-8000-000000000000'

type Machine = TestDevice & Enrolment

describe('the devices of an organization', () => {
  let shared: TestServer
  let test: TestServer
  let org: string
  /** User names. */
  let names: { readonly alice: string; readonly bob: string }
  let owner: Owner
  let alice: string
  let bob: string
  let start: string

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    shared = await openTestServer(atEnd)
  })
  beforeEach(() => open(shared))

  async function open(server: TestServer): Promise<void> {
    test = server
    org = freshName('acme')
    names = { alice: freshName('alice'), bob: freshName('bob') }
    owner = await openOwner(test, org, names.alice)
    alice = owner.as
    bob = await owner.addMember(names.bob, 'member', PASSWORD)
    start = new Date(test.now()).toISOString()
  }

  async function enrol(payload: object = {}, of = org, as = alice): Promise<Machine> {
    const machine = await enrolTestDevice(test, as, of, payload)
    return { ...machine, ...machine.enrolment }
  }

  async function openRival(): Promise<{ readonly org: string; readonly owner: Owner }> {
    const rival = freshName('rival')
    return { org: rival, owner: await openOwner(test, rival, freshName('rita')) }
  }

  const devicesOf = (of: string) => `/api/v1/orgs/${of}/devices`
  const list = (as?: string, url = devicesOf(org)) =>
    test.send('GET', url, as === undefined ? {} : { as })

  async function revoke(as: string | undefined, id: string, url = devicesOf(org)): Promise<number> {
    return (await test.send('DELETE', `${url}/${id}`, as === undefined ? {} : { as })).statusCode
  }

  /** Status of a poll, or of the request for the view if that is refused. */
  const pollStatus = async (as: Machine) => {
    const assigned = await test.send('GET', '/api/v1/device/view', { as })
    if (assigned.statusCode !== 200) return assigned.statusCode
    const { org, view } = assigned.json<DeviceView>().signed
    const url = `/api/v1/orgs/${org}/views/${view}/metadata/timestamp.json`
    return (await test.send('GET', url, { as })).statusCode
  }

  it('are listed with their last poll once it is written', async () => {
    const [seen, unseen] = [await enrol(), await enrol()]
    await test.store.transaction((writer) => writer.devicePolls.record(seen.device_id, start))

    const { data } = listDevicesResponseSchema.parse((await list(alice)).json())

    const lastSeenOf = (id: string) => data.find((device) => device.id === id)?.last_seen_at
    expect(lastSeenOf(seen.device_id)).toBe(start)
    expect(lastSeenOf(unseen.device_id)).toBeUndefined()
  })

  it('have their last poll after a restart of the server', async () => {
    await open(await openTestServer())
    const [seen, refused] = [await enrol(), await enrol()]
    await revoke(alice, refused.device_id)
    expect([await pollStatus(seen), await pollStatus(refused)]).toEqual([200, 401])
    test.advance(1_000)
    expect(await pollStatus(seen)).toBe(200)

    await test.server.close()

    const polls = await test.store.read((reader) =>
      reader.devicePolls.list([seen.device_id, refused.device_id]),
    )
    expect(polls).toEqual(new Map([[seen.device_id, new Date(test.now()).toISOString()]]))
  })

  it('are listed by ascending id, without secrets, including revoked ones', async () => {
    const enrolled = [
      await enrol(),
      await enrol({ user: names.bob }),
      await enrol({ user: names.alice }),
    ]
    const rival = await openRival()
    await enrol({}, rival.org, rival.owner.as)
    const lost = enrolled[1]?.device_id ?? ''
    test.advance(1_000)
    await revoke(alice, lost)

    const listed = await list(alice)

    expect(listed.statusCode).toBe(200)
    expect(listDevicesResponseSchema.parse(listed.json()).data).toEqual(
      enrolled
        .map(({ device_id: id, user }) => ({
          id,
          user,
          labels: [],
          created_at: start,
          ...(id === lost ? { revoked_at: new Date(test.now()).toISOString() } : {}),
        }))
        .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    )
    expect(listed.body).not.toMatch(/pal_d|thumbprint|hash/)
  })

  it('are shown to administrators only', async () => {
    expect((await list(await owner.organizationToken(['organization:admin']))).statusCode).toBe(200)
    for (const as of [
      bob,
      await owner.addMember(freshName('ed'), 'editor', PASSWORD),
      await owner.addMember(freshName('audrey'), 'auditor', PASSWORD),
      await owner.organizationToken(['policies:read', 'policies:write', 'audit:read']),
    ])
      expect((await list(as)).statusCode).toBe(403)
    expect((await list()).statusCode).toBe(401)
    expect((await list((await enrol()).token)).statusCode).toBe(401)
    expect((await list((await openRival()).owner.as)).statusCode).toBe(404)
    expect((await list(alice, `${devicesOf(org)}?x=1`)).statusCode).toBe(400)
  })

  it('are refused from the next request after their revocation', async () => {
    const [lost, kept] = [await enrol({ user: names.bob }), await enrol({ user: names.bob })]
    expect(await pollStatus(lost)).toBe(200)

    const revoked = await test.send('DELETE', `${devicesOf(org)}/${lost.device_id}`, { as: alice })

    expect([revoked.statusCode, revoked.body]).toEqual([204, ''])
    expect(await pollStatus(lost)).toBe(401)
    expect(await pollStatus(kept)).toBe(200)
  })

  it('keep the time of their first revocation', async () => {
    const { device_id } = await enrol()
    await revoke(alice, device_id)
    test.advance(60_000)

    expect(await revoke(alice, device_id)).toBe(204)

    expect((await list(alice)).json().data).toMatchObject([{ revoked_at: start }])
  })

  it('can be revoked by administrators and by their user', async () => {
    const admin = await owner.organizationToken(['organization:admin'])
    for (const [as, user] of [
      [admin, names.bob],
      [alice, undefined],
      [bob, names.bob],
    ] as const) {
      const device = await enrol(user === undefined ? {} : { user })

      expect(await revoke(as, device.device_id)).toBe(204)
      expect(await pollStatus(device)).toBe(401)
    }
  })

  it('cannot be enrolled or revoked by a token that lacks permissions of the role', async () => {
    const ofAlice = await enrol({ user: names.alice })
    const sessionOf = async (as: string, username: string, permissions: readonly string[]) => {
      const payload = { name: 'x', permissions, expires_in_days: 1 }
      const made = await test.send('POST', '/api/v1/user/access-tokens', { as, payload })
      return test.signIn(username, made.json<{ token: string }>().token)
    }
    const narrow = await sessionOf(alice, names.alice, ['policies:read'])
    const whole = await sessionOf(bob, names.bob, [])

    await expect(enrol({ user: names.alice }, org, narrow)).rejects.toThrow('permission_denied')
    expect(await revoke(narrow, ofAlice.device_id)).toBe(403)
    expect(await pollStatus(ofAlice)).toBe(200)
    const ofBob = await enrol({ user: names.bob }, org, whole)
    expect(await revoke(whole, ofBob.device_id)).toBe(204)
  })

  it('cannot be revoked by others, who do not learn which exist', async () => {
    const [ofAlice, ofNobody] = [await enrol({ user: names.alice }), await enrol()]
    const others = [
      bob,
      await owner.addMember(freshName('ed'), 'editor', PASSWORD),
      await owner.organizationToken(['policies:read', 'policies:write', 'audit:read']),
    ]

    for (const as of others)
      for (const id of [ofAlice.device_id, ofNobody.device_id, UNKNOWN])
        expect(await revoke(as, id)).toBe(403)

    expect(await revoke(undefined, ofAlice.device_id)).toBe(401)
    expect(await revoke(ofAlice.token, ofAlice.device_id)).toBe(401)
    for (const device of [ofAlice, ofNobody]) expect(await pollStatus(device)).toBe(200)
  })

  it('cannot be reached by another organization', async () => {
    const ours = await enrol({ user: names.bob })
    const rival = await openRival()
    const [rita, rivals] = [rival.owner.as, devicesOf(rival.org)]
    const theirs = await enrol({}, rival.org, rita)
    await rival.owner.addKnown(names.bob, 'member')

    expect(await revoke(rita, ours.device_id)).toBe(404)
    expect(await revoke(rita, ours.device_id, rivals)).toBe(404)
    expect(await revoke(alice, theirs.device_id)).toBe(404)
    // Their own device, but under the wrong organization.
    expect(await revoke(bob, ours.device_id, rivals)).toBe(403)

    expect(await pollStatus(ours)).toBe(200)
    expect(await pollStatus(theirs)).toBe(200)
    expect((await list(rita, rivals)).json().data).toMatchObject([{ id: theirs.device_id }])
  })

  it('are 404 for a malformed id', async () => {
    await enrol()

    for (const id of [UNKNOWN, 'x', '%25', "'%20OR%201=1"])
      expect(await revoke(alice, id)).toBe(404)
  })

  it('can be revoked in an organization without governance', async () => {
    const [poor, id] = [freshName('poor'), freshName('d')]
    await test.createOrganization(poor, names.alice, false)
    await test.store.transaction((writer) =>
      writer.devices.insert({
        id,
        org: poor,
        username: null,
        thumbprint: id,
        name: null,
        labels: [],
        enrolment_token_id: null,
        created_at: start,
        revoked_at: null,
      }),
    )

    expect(await revoke(alice, id, devicesOf(poor))).toBe(204)
  })

  it('are listed page by page', async () => {
    const ids = [await enrol(), await enrol(), await enrol()].map(({ device_id }) => device_id)
    const rival = await openRival()
    await enrol({}, rival.org, rival.owner.as)
    const page = async (query: string) => {
      const answer = await list(alice, `${devicesOf(org)}?${query}`)
      return listDevicesResponseSchema.parse(answer.json())
    }

    const first = await page('page_size=2')
    const second = await page(`page_size=2&cursor=${first.next_cursor}`)

    const listed = [...first.data, ...second.data].map(({ id }) => id)
    expect(listed).toEqual(ids.toSorted())
    expect([first.data.length, second.next_cursor]).toEqual([2, null])
    expect((await page('page_size=3')).next_cursor).toBeNull()
    const foreign = await list(
      rival.owner.as,
      `${devicesOf(rival.org)}?cursor=${first.next_cursor}`,
    )
    expect([foreign.statusCode, foreign.json().error.field]).toEqual([400, 'cursor'])
    expect((await list(alice, `${devicesOf(org)}?cursor=`)).statusCode).toBe(400)
  })

  it('are labelled by administrators, with sorted and unique labels', async () => {
    const { device_id } = await enrol({ user: names.bob })
    const rival = await openRival()
    const rita = rival.owner.as
    const label = (as: string, labels: unknown, url = devicesOf(org)) =>
      test.send('PATCH', `${url}/${device_id}`, { as, payload: { labels } })

    const changed = await label(alice, ['vm', 'ci'])

    expect([changed.statusCode, changed.json().labels]).toEqual([200, ['ci', 'vm']])
    expect((await list(alice)).json().data).toMatchObject([{ labels: ['ci', 'vm'] }])
    expect((await label(bob, [])).statusCode).toBe(403)
    expect((await label(rita, [])).statusCode).toBe(404)
    expect((await label(rita, [], devicesOf(rival.org))).statusCode).toBe(404)
    for (const labels of [['CI'], ['a', 'a'], [''], 'ci', ['x'.repeat(64)]])
      expect((await label(alice, labels)).statusCode).toBe(400)
    expect((await list(alice)).json().data).toMatchObject([{ labels: ['ci', 'vm'] }])
  })
})
