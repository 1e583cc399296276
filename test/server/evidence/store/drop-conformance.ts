import { describe, expect, it } from 'vitest'
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

export function describeDroppedEvidence(opened: () => EvidenceStore): void {
  describe('removed evidence', () => {
    const loss = { at_ms: NOW_MS, lost: 2, reason: 'queue_full' }
    /** Both devices have asked for `shared.example`, on two days. */
    const append = (device_id: string, org = 'acme') =>
      opened().append(
        batch({
          org,
          device_id,
          losses: [loss],
          rows: ['shared', device_id].flatMap((host) =>
            [NOW_MS, NOW_MS - DAY_MS].map((last_ms) =>
              row({ last_ms, tuple: { host: `${host}.example` } }),
            ),
          ),
        }),
      )
    const hosts = async (org = 'acme') =>
      new Set((await listAll(opened(), {}, { org })).map(({ tuple }) => tuple.host))

    it('of a device leaves that of all others, and its own chain', async () => {
      await append('dev_1')
      await append('dev_2')
      await append('dev_1x', 'other')

      expect(await opened().dropOwned({ org: 'acme', deviceId: 'dev_1' })).toBe(4)

      expect(await hosts()).toEqual(new Set(['shared.example', 'dev_2.example']))
      expect(await hosts('other')).toEqual(new Set(['shared.example', 'dev_1x.example']))
      expect(await opened().days()).toMatchObject([{ rows: 4 }, { rows: 4 }])
      expect(await opened().losses('acme', 'dev_1', EVERYTHING)).toEqual([])
      expect(await opened().losses('acme', 'dev_2', EVERYTHING)).toMatchObject([{ lost: 2 }])
      expect(await opened().chain('dev_1')).toEqual(chain(1))
      expect(await opened().dropOwned({ org: 'acme', deviceId: 'dev_1' })).toBe(0)
    })

    it('of an organization leaves that of all others, and can be followed by more', async () => {
      await opened().setExporters(['otlp'])
      await append('dev_1')
      await append('dev_2')
      await append('dev_3', 'other')

      expect(await opened().dropOwned({ org: 'acme', deviceId: null })).toBe(8)

      expect(await hosts()).toEqual(new Set())
      expect(await opened().firstDay('acme')).toBeNull()
      expect(await hosts('other')).toEqual(new Set(['shared.example', 'dev_3.example']))
      expect(await opened().countUnexported('otlp')).toMatchObject({ records: 4 })
      const next = { chain: chain(2), follows: NOW_MS + 1, rows: [row()] }
      await opened().append(batch(next))
      expect(await hosts()).toEqual(new Set(['registry.example']))
      expect(await opened().days()).toEqual([
        { day: TODAY - 1, rows: 2 },
        { day: TODAY, rows: 3 },
      ])
    })

    it('frees the limits', async () => {
      const limits = { ofOrganization: Infinity, ofDeviceADay: 5_000 }
      await append('dev_1')
      const next = {
        chain: chain(2),
        follows: NOW_MS + 1,
        rows: [1, 2, 3, 4].map((index) => row({ tuple: { host: `h${index}.example` } })),
      }
      expect(await opened().append(batch(next), limits)).toBe('device_quota')

      await opened().dropOwned({ org: 'acme', deviceId: 'dev_1' })

      const again = { ...next, chain: chain(3), follows: NOW_MS + 2 }
      expect(await opened().append(batch(again), limits)).toBeNull()
    })

    it('of an unknown organization is nothing', async () => {
      expect(await opened().dropOwned({ org: 'nowhere', deviceId: null })).toBe(0)
    })
  })
}
