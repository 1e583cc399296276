import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createAssignmentVersions,
  type FindAssignment,
} from '../../../server/src/views/assignment-versions.ts'
import { assignView, readAssignmentInputs } from '../../../server/src/views/assigned-view.ts'
import type { ViewRef } from '../../../server/src/views/inspect-view.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { freshName } from '../fresh-name.ts'
import { openOwner, type Owner } from '../owner.ts'
import { enrolTestDevice } from '../test-device.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { atEndOfTests } from '../temporary-directory.ts'

describe('versions of assignments', () => {
  let test: TestServer
  let org: string
  let alice: string
  let owner: Owner
  let deviceId: string
  let transactions: number

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    ;[org, alice] = [freshName('acme'), freshName('alice')]
    owner = await openOwner(test, org, alice)
    deviceId = await enrol()
    transactions = 0
  })

  async function enrol(): Promise<string> {
    const { enrolment } = await enrolTestDevice(test, owner.as, org, { user: alice })
    return enrolment.device_id
  }

  /** The versions of a server whose clock is ahead by this much. */
  function openServer(aheadMs = 0): FindAssignment {
    const store: Pick<Store, 'transaction'> = {
      transaction(work) {
        transactions += 1
        return test.store.transaction(work)
      },
    }
    return createAssignmentVersions({ store, now: () => new Date(test.now() + aheadMs) })
  }

  async function viewRefOf(id = deviceId): Promise<ViewRef> {
    const inputs = await test.store.read(async (reader) => {
      const device = await reader.devices.find(org, id)
      if (device === null) throw new Error('no device')
      return readAssignmentInputs(reader, device)
    })
    return assignView({ store: test.store, random: () => new Uint8Array(32) }, inputs)
  }

  async function joinTeam(): Promise<() => Promise<void>> {
    const teams = `/api/v1/orgs/${org}/teams`
    const made = await test.send('POST', teams, { as: owner.as, payload: { name: 'lax' } })
    const url = `${teams}/${made.json<{ id: string }>().id}/members/${alice}`
    expect((await test.send('PUT', url, { as: owner.as })).statusCode).toBeLessThan(300)
    return async () => {
      expect((await test.send('DELETE', url, { as: owner.as })).statusCode).toBeLessThan(300)
    }
  }

  it.each([-600_000, 0, 600_000])(
    'grow with each change of the view, with the next server %i ms ahead',
    async (aheadMs) => {
      const [one, other] = [openServer(), openServer(aheadMs)]
      const find = async (server: FindAssignment) =>
        server({ deviceId, viewRef: await viewRefOf(), heldVersion: 0 })

      const first = await find(one)
      const leave = await joinTeam()
      const second = await find(other)
      await leave()
      const third = await find(one)

      expect(second.view_id).not.toBe(first.view_id)
      expect(second.version).toBeGreaterThan(first.version)
      expect(third.version).toBeGreaterThan(second.version)
    },
  )

  it('are not created for a view that the device has left', async () => {
    const find = openServer()
    const leave = await joinTeam()
    const viewRef = await viewRefOf()
    const inTeam = await find({ deviceId, viewRef, heldVersion: 0 })
    await leave()
    const outside = await find({ deviceId, viewRef: await viewRefOf(), heldVersion: 0 })

    await expect(find({ deviceId, viewRef, heldVersion: 0 })).rejects.toMatchObject({ status: 409 })

    const kept = await test.store.read((reader) => reader.deviceAssignments.list([deviceId]))
    expect({ ...kept.get(deviceId), grants: [] }).toEqual(outside)
    expect(outside.version).toBeGreaterThan(inTeam.version)
  })

  it('of many concurrent devices are written in few transactions', async () => {
    const find = openServer()
    const ids = [deviceId]
    while (ids.length < 20) ids.push(await enrol())
    const viewRef = await viewRefOf()

    const found = await Promise.all(
      ids.map((id) => find({ deviceId: id, viewRef, heldVersion: 0 })),
    )

    expect(found.map(({ device_id }) => device_id)).toEqual(ids)
    expect(transactions).toBe(2)
  })

  it('are shared by concurrent requests of one device', async () => {
    const find = openServer()
    const viewRef = await viewRefOf()

    const found = await Promise.all([1, 2].map(() => find({ deviceId, viewRef, heldVersion: 0 })))

    expect(found[0]).toEqual(found[1])
  })

  it('are not served if they cannot be written', async () => {
    const broken: FindAssignment = createAssignmentVersions({
      store: { transaction: () => Promise.reject(new Error('the disk is full')) },
      now: () => new Date(test.now()),
    })
    const viewRef = await viewRefOf()

    await expect(broken({ deviceId, viewRef, heldVersion: 0 })).rejects.toThrow('the disk is full')
    await expect(broken({ deviceId, viewRef, heldVersion: 0 })).rejects.toThrow('the disk is full')
  })

  it('are written once for a machine that polls and updates', async () => {
    const device = await enrolTestDevice(test, owner.as, org, { user: alice })
    const id = device.enrolment.device_id
    const ask = (headers: Record<string, string> = {}) =>
      test.send('GET', '/api/v1/device/update?root=1', { as: device, headers })
    const kept = async () =>
      (await test.store.read((reader) => reader.deviceAssignments.list([id]))).get(id)

    const first = await ask()
    const before = await kept()
    test.advance(600_000)
    const again = await ask({ 'palisade-assignment-version': String(before?.version) })

    expect([first.statusCode, again.statusCode]).toEqual([200, 200])
    expect(await kept()).toEqual(before)
  })
})
