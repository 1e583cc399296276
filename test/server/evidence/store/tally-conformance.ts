import { describe, expect, it } from 'vitest'
import {
  readObserved,
  type ObservedProgress,
} from '../../../../server/src/evidence/observed/read-observed.ts'
import type { EvidenceStore } from '../../../../server/src/evidence/store/evidence-store.ts'
import { appendRows, batch, chain, DAY_MS, EVERYTHING, NOW_MS, row } from './evidence-batches.ts'

const BOUNDS = { records: 100, sightings: 1_000 }

/** Guarantees of tallies, part of those of every driver. */
export function describeEvidenceTallies(current: () => EvidenceStore): void {
  /** Sums as `device user host decisions first last`, times relative to `NOW_MS`. */
  const observed = async (
    time: { readonly fromMs: number; readonly toMs: number } = EVERYTHING,
    { org = 'acme', bounds = BOUNDS } = {},
  ): Promise<string[]> => {
    const lines: string[] = []
    for await (const requests of readObserved(current(), org, time, { bounds }))
      for (const { tuple, sightings } of requests)
        for (const { device_id, username, decisions, first_ms, last_ms } of sightings)
          lines.push(
            [device_id, username, tuple.host, decisions, first_ms - NOW_MS, last_ms - NOW_MS].join(
              ' ',
            ),
          )
    return lines.toSorted()
  }

  describe('the observed requests', () => {
    it('are counted by device, user and tuple, over sessions and days', async () => {
      await appendRows(current(), [
        row({ session: 'one', first_ms: NOW_MS - 9, decisions: 2 }),
        row({ session: 'two', last_ms: NOW_MS - 3 * DAY_MS, decisions: 3 }),
        row({ tuple: { host: 'b.example' } }),
      ])
      await appendRows(current(), [row()], { username: 'bob' })
      await appendRows(current(), [row()], { username: null, device_id: 'dev_2' })
      await appendRows(current(), [row()], { org: 'other', device_id: 'dev_3' })

      expect(await observed()).toEqual([
        `dev_1 alice b.example 1 0 0`,
        `dev_1 alice registry.example 5 ${-3 * DAY_MS} 0`,
        `dev_1 bob registry.example 1 0 0`,
        `dev_2  registry.example 1 0 0`,
      ])
      expect(await observed(EVERYTHING, { org: 'other' })).toHaveLength(1)
      expect(await observed(EVERYTHING, { org: 'unknown' })).toEqual([])
    })

    it('are those whose last decision is in the time', async () => {
      const ages = [0, 1, 1000, DAY_MS - 1, DAY_MS, DAY_MS + 1, 3 * DAY_MS]
      await appendRows(
        current(),
        ages.map((age) => row({ last_ms: NOW_MS - age, tuple: { host: `h${age}` } })),
      )

      for (const from of ages)
        for (const to of ages) {
          const time = { fromMs: NOW_MS - from, toMs: NOW_MS - to }
          const hosts = (await observed(time)).map((line) => line.split(' ')[2])
          const wanted = ages.filter((age) => age <= from && age > to).map((age) => `h${age}`)
          expect(hosts).toEqual(wanted.toSorted())
        }
    })

    it('are the same however many rows a page reads', async () => {
      // Many rows in one millisecond, and days between without any.
      const rows = Array.from({ length: 300 }, (_, index) =>
        row({
          last_ms: NOW_MS - Math.floor(index / 40) * (DAY_MS / 3),
          decisions: index,
          session: `s${index % 3}`,
          tuple: { host: `h${index % 7}.example` },
        }),
      )
      await appendRows(current(), rows)

      const whole = await observed(EVERYTHING, { bounds: { records: 100_000, sightings: 100 } })
      expect(whole).toHaveLength(7)
      for (const records of [1, 7, 40, 41])
        expect(await observed(EVERYTHING, { bounds: { records, sightings: 100 } })).toEqual(whole)
    })

    it('leave out ended connections, and all but the first sightings', async () => {
      await appendRows(current(), [
        row({ decisions: 0, flows: 4, tuple: { host: 'flow.example' } }),
        row({ last_ms: NOW_MS - 1, decisions: 7, tuple: { host: 'old.example' } }),
        row({ decisions: 2 }),
      ])
      const progress: ObservedProgress[] = []

      const requests = []
      const bounds = { records: 1, sightings: 1 }
      const onProgress = (each: ObservedProgress) => void progress.push(each)
      for await (const each of readObserved(current(), 'acme', EVERYTHING, { bounds, onProgress }))
        requests.push(...each)

      expect(requests).toMatchObject([{ tuple: { host: 'registry.example' } }])
      expect(progress.at(-1)).toEqual({ readFromMs: 0, sightings: 1, leftOut: 7 })
    })

    it('of a machine that floods keep out no others', async () => {
      const flood = Array.from({ length: 300 }, (_, index) =>
        row({ last_ms: NOW_MS - index, tuple: { host: `f${index}.example` } }),
      )
      const old = { last_ms: NOW_MS - DAY_MS }
      await appendRows(current(), [...flood, row({ ...old, decisions: 3 })])
      for (const device_id of ['dev_2', 'dev_3', 'dev_4'])
        await appendRows(current(), [row(old)], { device_id })
      const progress: ObservedProgress[] = []
      const onProgress = (each: ObservedProgress) => void progress.push(each)
      const seen: string[] = []

      const options = { bounds: { records: 50, sightings: 100 }, onProgress }
      for await (const requests of readObserved(current(), 'acme', EVERYTHING, options))
        for (const { sightings } of requests)
          seen.push(...sightings.map(({ device_id }) => device_id))

      expect(seen.filter((device) => device !== 'dev_1')).toHaveLength(3)
      const kept = seen.length - 3
      expect(kept).toBeGreaterThanOrEqual(50)
      expect(progress.at(-1)).toMatchObject({ sightings: kept + 3, leftOut: 303 - kept })
    })

    it('of one machine alone fill the whole bound', async () => {
      const rows = Array.from({ length: 30 }, (_, index) =>
        row({ last_ms: NOW_MS - index, tuple: { host: `h${index}.example` } }),
      )
      await appendRows(current(), rows)

      const bounds = { records: 7, sightings: 20 }
      expect(await observed(EVERYTHING, { bounds })).toHaveLength(20)
    })

    it('of a machine that claims the largest numbers can still be added', async () => {
      const largest = Number.MAX_SAFE_INTEGER
      await appendRows(
        current(),
        Array.from({ length: 1_000 }, () => row({ decisions: largest })),
      )

      expect(await observed()).toEqual([`dev_1 alice registry.example 1000000000 0 0`])
    })

    it('can be read while batches arrive and days are removed', async () => {
      const old = Array.from({ length: 50 }, (_, index) =>
        row({ last_ms: NOW_MS - 9 * DAY_MS - index, tuple: { host: `old${index}` } }),
      )
      await current().append(batch({ rows: [row(), ...old] }))
      const reading = observed(EVERYTHING, { bounds: { records: 1, sightings: 100 } })

      for (let seq = 2; seq < 12; seq += 1)
        await current().append(
          batch({ rows: [row()], chain: chain(seq), follows: NOW_MS + seq - 1 }),
        )
      await current().dropBefore(Math.floor(NOW_MS / DAY_MS) - 1)

      expect((await reading).some((line) => line.includes('registry.example'))).toBe(true)
      expect(await observed()).toEqual([`dev_1 alice registry.example 11 0 0`])
    })
  })
}
