import { describe, expect, it } from 'vitest'
import type { EvidenceLimits } from '../../../../server/src/evidence/store/evidence-limits.ts'
import type { EvidenceStore } from '../../../../server/src/evidence/store/evidence-store.ts'
import {
  batch,
  chain,
  DAY_MS,
  EVERYTHING,
  listAll,
  NOW_MS,
  row,
  TODAY,
} from './evidence-batches.ts'

/** Room for one batch of `rowsOf`, and not for two. */
const ONE_BATCH = 15_000
const MANY = 1e9

export function describeEvidenceLimits(opened: () => EvidenceStore): void {
  describe('limits', () => {
    const append = (
      limits: Partial<EvidenceLimits>,
      changes: Partial<Parameters<EvidenceStore['append']>[0]> = {},
    ) =>
      opened().append(batch({ rows: rowsOf(), ...changes }), {
        ofOrganization: MANY,
        ofDeviceADay: MANY,
        ...limits,
      })
    const hosts = async (org = 'acme') =>
      new Set((await listAll(opened(), {}, { org })).map(({ tuple }) => tuple.host))

    it('of a device count what is beyond them as lost, and let its chain go on', async () => {
      const limits = { ofDeviceADay: ONE_BATCH }
      const losses = [{ at_ms: NOW_MS - 9 * DAY_MS, lost: 4, reason: 'queue_full' }]
      expect(await append(limits)).toBeNull()
      expect(await opened().lastLimited('acme')).toBeNull()

      const second = { chain: chain(2), follows: NOW_MS + 1, rows: rowsOf('b'), losses }
      expect(await append(limits, second)).toBe('device_quota')

      expect(await hosts()).toEqual(new Set(rowsOf().map(({ tuple }) => tuple.host)))
      expect(await opened().chain('dev_1')).toEqual(chain(2, { lost: 10 }))
      expect(await opened().losses('acme', 'dev_1', EVERYTHING)).toEqual([
        { reason: 'device_quota', lost: 14, at_ms: NOW_MS + 2 },
      ])
      expect(await opened().lastLimited('acme')).toBe(NOW_MS + 2)
      expect(await opened().lastLimited('other')).toBeNull()
      expect(await opened().days()).toEqual([{ day: TODAY, rows: 10 }])
      const other = { device_id: 'dev_2', username: 'bob', rows: rowsOf('c') }
      expect(await append(limits, other)).toBeNull()
    })

    it('of a device begin anew with the day of the server', async () => {
      const limits = { ofDeviceADay: ONE_BATCH }
      await append(limits)
      const tomorrow = { received_ms: NOW_MS + DAY_MS }

      const later = { chain: chain(2, tomorrow), follows: NOW_MS + 1, rows: rowsOf('b') }
      expect(await append(limits, later)).toBeNull()
    })

    it('of a user hold for ever new devices, and leave the rest to others', async () => {
      const limits = { ofOrganization: 8 * ONE_BATCH }
      expect(await append(limits)).toBeNull()

      const again = { device_id: 'dev_2', rows: rowsOf('b') }
      expect(await append(limits, again)).toBe('user_quota')
      const bob = { device_id: 'dev_3', username: 'bob', rows: rowsOf('b') }
      expect(await append(limits, bob)).toBeNull()
      const nobody = { device_id: 'dev_4', username: null, rows: rowsOf('c') }
      expect(await append(limits, nobody)).toBeNull()
    })

    it('of an organization are those of all its users, and of no other', async () => {
      const of = (user: string) => ({ device_id: user, username: user, rows: rowsOf(user) })
      const limits = { ofOrganization: 8 * ONE_BATCH }
      const exceeded: (string | null)[] = []
      for (const user of 'abcdefghijklnopqrst') exceeded.push(await append(limits, of(user)))

      expect(new Set(exceeded)).toEqual(new Set([null, 'organization_quota']))
      expect(exceeded.at(-1)).toBe('organization_quota')
      expect(await append(limits, { ...of('m'), org: 'other' })).toBeNull()
      expect(await hosts('other')).toHaveLength(10)
    })

    it('are free again after the removal of days', async () => {
      const limits = { ofOrganization: 8 * ONE_BATCH }
      const old = { received_ms: NOW_MS - 9 * DAY_MS }
      const former = rowsOf('old').map((each) => ({ ...each, last_ms: old.received_ms }))
      await append(limits, { chain: chain(1, old), rows: former })
      const next = { chain: chain(2), follows: old.received_ms, rows: rowsOf() }
      expect(await append(limits, { ...next, rows: rowsOf('b') })).toBe('user_quota')

      await opened().dropBefore(TODAY - 2)

      const third = { chain: chain(3), follows: NOW_MS + 2, rows: rowsOf('b') }
      expect(await append(limits, third)).toBeNull()
    })

    it('do not count a request that is known as a new one', async () => {
      const limits = { ofDeviceADay: ONE_BATCH }
      await append(limits)
      const same = { chain: chain(2), follows: NOW_MS + 1 }
      expect(await append(limits, same)).toBeNull()
    })

    it('bound losses, of which a machine may claim thousands', async () => {
      const losses = Array.from({ length: 3_000 }, (_, index) => ({
        at_ms: NOW_MS - index,
        lost: 1,
        reason: 'queue_full',
      }))
      await append({}, { rows: [], losses })
      await append({}, { rows: [], losses, chain: chain(2), follows: NOW_MS + 1 })

      expect(await opened().losses('acme', 'dev_1', EVERYTHING)).toEqual([
        { reason: 'queue_full', lost: 6_000, at_ms: NOW_MS },
      ])
      const before = { fromMs: 0, toMs: NOW_MS }
      expect(await opened().losses('acme', 'dev_1', before)).toEqual([])
    })
  })
}

/** Ten requests that no other batch has. */
function rowsOf(name = 'a') {
  return Array.from({ length: 10 }, (_, index) =>
    row({ last_ms: NOW_MS - index, tuple: { host: `${name}${index}.example` } }),
  )
}
