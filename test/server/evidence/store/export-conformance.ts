import { describe, expect, it } from 'vitest'
import type { EvidenceStore } from '../../../../server/src/evidence/store/evidence-store.ts'
import { appendRows, chain, DAY_MS, listAll, NOW_MS, row, TODAY } from './evidence-batches.ts'

/** Guarantees of every driver for the export of records. */
export function describeExports(current: () => EvidenceStore): void {
  describe('the export', () => {
    const ids = async (exporter: string, most = 10_000) => {
      const { rows } = await current().unexported(exporter, most)
      return rows.map(({ id }) => id).toSorted((one, other) => one - other)
    }

    it('has the rows that arrive while there is an exporter, as a list shows them', async () => {
      const store = current()
      await appendRows(store, [row()])
      expect(await store.setExporters(['otlp', 'syslog'])).toBe(0)
      await appendRows(store, [
        row({ session: 'a', tuple: { host: 'a.example' } }),
        row({ session: 'b', last_ms: NOW_MS - 3 * DAY_MS }),
        row({ session: 'a', last_ms: NOW_MS - 5 }),
      ])
      await appendRows(store, [row({ session: 'a' })], { device_id: 'dev_2', username: null })
      await appendRows(store, [row()], { org: 'other', device_id: 'dev_3' })

      const { rows } = await store.unexported('otlp', 10_000)
      const listed = [...(await listAll(store)), ...(await listAll(store, {}, { org: 'other' }))]
      const key = ({ org, id }: { org: string; id: number }) => `${org} ${id}`
      const newer = listed.filter((each) => key(each) !== 'acme 1')
      const sorted = <T extends { org: string; id: number }>(all: readonly T[]) =>
        all.toSorted((one, other) => key(one).localeCompare(key(other)))
      expect(sorted(rows)).toEqual(sorted(newer))
      expect(await store.countUnexported('syslog')).toMatchObject({ records: 5 })
      expect((await store.countUnexported('otlp')).oldest_ms).toBeGreaterThan(0)
    })

    it('goes on after what was exported, of each exporter on its own', async () => {
      const store = current()
      await store.setExporters(['otlp', 'syslog'])
      await appendRows(store, [row(), row({ last_ms: NOW_MS - 1 })])
      await appendRows(store, [row()])
      const first = await store.unexported('otlp', 2)
      expect(first.rows).toHaveLength(2)
      // One part at least, however large it is.
      expect((await store.unexported('otlp', 1)).rows).toHaveLength(2)
      await store.exported(first.ids)
      expect([await ids('otlp'), await ids('syslog')]).toEqual([[3], [1, 2, 3]])
      const rest = await store.unexported('otlp', 2)
      await store.exported(rest.ids)
      expect(await store.unexported('otlp', 2)).toEqual({ ids: [], rows: [] })
      expect(await store.countUnexported('otlp')).toEqual({
        records: 0,
        oldest_ms: null,
        is_known: true,
      })
    })

    it('forgets an exporter that is not named any more, and counts its records', async () => {
      const store = current()
      await store.setExporters(['otlp', 'syslog'])
      await appendRows(store, [row(), row({ last_ms: NOW_MS - 1 })])
      expect(await store.setExporters(['syslog'])).toBe(2)
      await appendRows(store, [row()])
      expect([await ids('otlp'), await ids('syslog')]).toEqual([[], [1, 2, 3]])
      expect(await store.countUnexported('otlp')).toMatchObject({ records: 0, is_known: false })

      await store.addExporter('otlp')
      await store.addExporter('otlp')
      await appendRows(store, [row()])
      expect([await ids('otlp'), await ids('syslog')]).toEqual([[4], [1, 2, 3, 4]])
      expect(await store.countUnexported('otlp')).toMatchObject({ records: 1, is_known: true })
    })

    it('counts the rows that the retention takes before their export', async () => {
      const store = current()
      await store.setExporters(['otlp'])
      await appendRows(store, [row({ last_ms: NOW_MS - DAY_MS }), row()])
      expect(await store.dropUnexported(TODAY)).toBe(1)
      await store.dropBefore(TODAY)
      expect([await ids('otlp'), await store.dropUnexported(TODAY)]).toEqual([[2], 0])
    })

    it('counts and forgets what has waited for days, however many sessions it has', async () => {
      const store = current()
      await store.setExporters(['otlp', 'syslog', 'third'])
      const sessions = Array.from({ length: 4_001 }, (_, index) => row({ session: `s${index}` }))
      await appendRows(store, sessions, { chain: chain(4_001, { received_ms: NOW_MS + 9 }) })
      await appendRows(store, [row({ last_ms: NOW_MS + DAY_MS })])

      const waiting = { records: 4_002, oldest_ms: NOW_MS + 9, is_known: true }
      expect(await store.countUnexported('otlp')).toEqual(waiting)
      expect(await store.setExporters(['syslog', 'third'])).toBe(4_002)
      expect(await ids('otlp')).toEqual([])
      expect(await store.countUnexported('third')).toEqual(waiting)
      expect(await store.dropUnexported(TODAY + 1)).toBe(8_002)
      expect([await ids('syslog'), await ids('third')]).toEqual([[4_002], [4_002]])
    })

    it('is lent to one holder, until its time is over', async () => {
      const store = current()
      await store.setExporters(['otlp'])
      expect(await store.lease('otlp', 'one', NOW_MS, 1_000)).toBe(true)
      expect(await store.lease('otlp', 'other', NOW_MS + 999, 1_000)).toBe(false)
      expect(await store.lease('otlp', 'one', NOW_MS + 999, 1_000)).toBe(true)
      expect(await store.lease('otlp', 'other', NOW_MS + 1_500, 1_000)).toBe(false)
      expect(await store.lease('otlp', 'other', NOW_MS + 2_500, 1_000)).toBe(true)
      // By a clock that was wrong, and by one that is a little ahead.
      expect(await store.lease('otlp', 'wrong', Date.parse('2200-01-01'), 1_000)).toBe(true)
      expect(await store.lease('otlp', 'one', NOW_MS, 1_000)).toBe(true)
      expect(await store.lease('otlp', 'ahead', NOW_MS + 60_000, 1_000)).toBe(true)
      expect(await store.lease('otlp', 'one', NOW_MS, 1_000)).toBe(false)
      expect(await store.lease('absent', 'one', NOW_MS, 1_000)).toBe(false)
    })
  })
}
