import { MAX_BUNDLE_BYTES, type Bundle } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createStateStore } from '../../../agent/src/sync/state/state-store.ts'
import {
  createSynchronizer,
  type Synchronizer,
} from '../../../agent/src/sync/update/synchronizer.ts'
import { createViewChannel } from '../../../agent/src/sync/update/view-channel.ts'
import { fault } from '../../../agent/src/sync/fault.ts'
import { activePolicy } from '../../agent/fixture/active-policy.ts'
import { temporaryDirectory } from '../../agent/fixture/temporary-directory.ts'
import { freshName } from '../fresh-name.ts'
import { openOwner, type Owner } from '../owner.ts'
import { enrolTestDevice, type TestDevice } from '../test-device.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { atEndOfTests } from '../temporary-directory.ts'

const HOUR_MS = 3_600_000
const PASSWORD = 'a long enough password'
const NO_ONE = new AbortController().signal

interface Machine {
  readonly synchronizer: Synchronizer
  readonly may: (path: string) => boolean
}

describe('the bundle of a device', () => {
  let test: TestServer
  let org: string
  let alice: string
  let owner: Owner
  let device: TestDevice

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    // tuf-js reads the global clock.
    vi.useFakeTimers({ toFake: ['Date'], now: test.now() })
    onTestFinished(() => void vi.useRealTimers())
    ;[org, alice] = [freshName('acme'), freshName('alice')]
    owner = await openOwner(test, org, alice)
    device = await enrolTestDevice(test, owner.as, org, { user: alice })
    await allow('everybody', '/data/**')
  })

  async function allow(name: string, path: string): Promise<void> {
    const policies = `/v2/orgs/${org}/governance/policies`
    const made = await test.send('POST', policies, { as: owner.as, payload: { name } })
    const rule = { name, actions: ['read'], decision: 'allow', resources: [path] }
    const rules = `${policies}/${made.json<{ id: string }>().id}/rules`
    const ruled = await test.send('POST', rules, { as: owner.as, payload: rule })
    expect([made.statusCode, ruled.statusCode]).toEqual([201, 201])
  }

  const urlOf = (id: string, of = org) => `/api/v1/orgs/${of}/devices/${id}/bundle`
  const ask = (as: string, id = device.enrolment.device_id, of = org) =>
    test.send('GET', urlOf(id, of), { as })
  const statusOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).statusCode

  async function fetchBundle(): Promise<Buffer> {
    const answer = await ask(owner.as)
    expect(answer.statusCode, answer.body).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    return answer.rawPayload
  }

  /** A machine that is enrolled but has no connection to a server. */
  async function openMachine({ enrolment }: TestDevice): Promise<Machine> {
    const { active, surroundings, clock } = activePolicy()
    surroundings.nowMs = test.now()
    const channel = createViewChannel({
      enrolment,
      store: createStateStore(await temporaryDirectory()),
      fetchFile: async () => fault('unreachable', 'there is no network'),
      clock,
    })
    const now = (): number => surroundings.nowMs
    const synchronizer = createSynchronizer({
      active,
      channel,
      checkConflict: async () => {},
      org,
      clock: now,
    })
    await synchronizer.restore()
    return {
      synchronizer,
      may: (path) => active.decide({ action: 'read', path }).decision === 'allow',
    }
  }

  it('suffices for a machine without the server, and later brings only changes', async () => {
    const { synchronizer, may } = await openMachine(device)
    expect(await synchronizer.run(NO_ONE)).toMatchObject({ error: { code: 'unreachable' } })

    const first = await synchronizer.import([await fetchBundle()], NO_ONE)
    await allow('later', '/later/**')
    const before = [may('/data/x'), may('/later/x'), may('/etc/passwd')]
    const second = await synchronizer.import([await fetchBundle()], NO_ONE)

    expect([first, second]).toMatchObject([{ error: null }, { outcome: 'updated', error: null }])
    expect(before).toEqual([true, false, false])
    expect([may('/data/x'), may('/later/x'), may('/etc/passwd')]).toEqual([true, true, false])
  })

  it('works for one device, for a day', async () => {
    const other = await enrolTestDevice(test, owner.as, org, { user: alice })
    const bundle = await fetchBundle()

    const elsewhere = await openMachine(other)
    expect(await elsewhere.synchronizer.import([bundle], NO_ONE)).toMatchObject({
      error: { code: 'wrong_device' },
    })
    test.advance(25 * HOUR_MS)
    vi.setSystemTime(test.now())
    const late = await openMachine(device)
    expect(await late.synchronizer.import([bundle], NO_ONE)).toMatchObject({
      error: { code: 'expired' },
    })
    expect([elsewhere.may('/data/x'), late.may('/data/x')]).toEqual([false, false])
  })

  it('contains roots, metadata and policies, under the names that machines request', async () => {
    const { files } = JSON.parse((await fetchBundle()).toString()) as Bundle

    const names = Object.keys(files).map((name) => name.replaceAll(/[0-9a-f]{64}\.\w+/g, 'HASH.ID'))
    expect(names.toSorted()).toEqual([
      'metadata/1.root.json',
      expect.stringMatching(/^metadata\/\d+\.snapshot\.json$/),
      expect.stringMatching(/^metadata\/\d+\.targets\.json$/),
      'metadata/timestamp.json',
      'targets/policies/HASH.ID.json',
    ])
    expect(JSON.stringify(files).length).toBeLessThan(MAX_BUNDLE_BYTES)
  })

  it('is restricted to administrators of the organization', async () => {
    const bob = await owner.addMember(freshName('bob'), 'member', PASSWORD)
    const theirs = freshName('rival')
    const rival = await openOwner(test, theirs, freshName('rita'))
    const { device_id: id } = device.enrolment

    expect(await statusOf(owner.as)).toBe(200)
    expect(await statusOf(await owner.organizationToken(['organization:admin']))).toBe(200)
    expect(await statusOf(await owner.organizationToken(['policies:read']))).toBe(403)
    expect(await statusOf(bob)).toBe(403)
    expect(await statusOf(rival.as)).toBe(404)
    expect(await statusOf(rival.as, id, theirs)).toBe(404)
    expect(await statusOf(owner.as, 'no-such-device')).toBe(404)
    expect((await test.send('GET', urlOf(id))).statusCode).toBe(401)
    expect((await test.send('GET', urlOf(id), { as: device })).statusCode).toBe(401)
  })

  it('is refused for a revoked device', async () => {
    const { device_id: id } = device.enrolment
    await test.send('DELETE', `/api/v1/orgs/${org}/devices/${id}`, { as: owner.as })

    expect(await statusOf(owner.as)).toBe(409)
  })
})
