import { describe, expect, it } from 'vitest'
import type { GrantRecord } from '../../../server/src/store/distribution-records.ts'
import type { Store } from '../../../server/src/store/store.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const LATER = '2026-11-21T09:00:00.000Z'

/** Guarantees of every driver for break-glass grants; `store` holds the seed of `describeStore`. */
export function describeGrants(store: () => Store): void {
  const device = (id: string, org: string) => ({
    id,
    org,
    username: null,
    thumbprint: `hash of ${id}`,
    name: null,
    labels: [],
    enrolment_token_id: null,
    created_at: NOW,
    revoked_at: null,
  })

  describe('grants', () => {
    it('lists the grants of a device that have not ended, by time of issue', async () => {
      const grant = (id: string, more: Partial<GrantRecord> = {}): GrantRecord => ({
        id,
        org: 'acme',
        device_id: 'd1',
        reason: 'the office is offline',
        issued_by: 'user:ann',
        issued_at: NOW,
        use_by: LATER,
        duration_seconds: 3600,
        over_at: '2026-11-30T00:00:00.000Z',
        ...more,
      })
      const [late, early] = [grant('g1', { issued_at: LATER }), grant('g2')]
      await store().transaction(async (writer) => {
        for (const each of [device('d1', 'acme'), device('d2', 'acme'), device('d3', 'rival')])
          await writer.devices.insert(each)
        for (const each of [
          late,
          early,
          grant('g3', { over_at: LATER }),
          grant('g4', { device_id: 'd2' }),
          grant('g5', { device_id: 'd3', org: 'rival' }),
        ])
          await writer.grants.insert(each)
      })

      await store().read(async ({ grants }) => {
        expect(await grants.listOutstanding('acme', 'd1', LATER)).toEqual([early, late])
        expect(await grants.listOutstanding('rival', 'd1', LATER)).toEqual([])
        expect(await grants.listOutstanding('acme', 'd1', early.over_at)).toEqual([])
      })
      const repeated = store().transaction((writer) => writer.grants.insert(early))
      await expect(repeated).rejects.toMatchObject({ code: 'ERR_STORE_CONFLICT' })
    })
  })
}
