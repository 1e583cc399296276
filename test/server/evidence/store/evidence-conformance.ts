import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { EvidenceStore } from '../../../../server/src/evidence/store/evidence-store.ts'
import { describeDroppedEvidence } from './drop-conformance.ts'
import { describeExports } from './export-conformance.ts'
import { describeEvidenceLimits } from './limits-conformance.ts'
import { describeEvidenceLists } from './list-conformance.ts'
import { describeRuleUse } from './rule-use-conformance.ts'
import { describeEvidenceTallies } from './tally-conformance.ts'
import {
  appendRows,
  batch,
  chain,
  DAY_MS,
  EVERYTHING,
  listAll,
  NOW_MS,
  row,
  TODAY,
} from './evidence-batches.ts'

/** Opens the evidence of one test; called again it opens the same data once more. */
export type OpenEvidence = () => EvidenceStore | Promise<EvidenceStore>

/** Guarantees of every driver; `prepare` creates an empty store for one test. */
export function describeEvidence(
  name: string,
  prepare: () => OpenEvidence | Promise<OpenEvidence>,
): void {
  describe(name, () => {
    let open: OpenEvidence
    let store: EvidenceStore

    beforeEach(async () => {
      open = await prepare()
      store = await open()
      onTestFinished(() => store.close())
    })

    const conflict = expect.objectContaining({ code: 'ERR_STORE_CONFLICT' }) as Error

    describe('the chain of a device', () => {
      it('is null before the first batch', async () => {
        expect(await store.chain('dev_1')).toBeNull()
      })

      it('is kept with all members, also by a store that is opened again', async () => {
        const whole = chain(9, {
          earlier: [
            { boot: 'b', seq: 4, hash: 'f'.repeat(64) },
            { boot: 'a', seq: 2, hash: 'e'.repeat(64) },
          ],
          gaps: 1,
          forks: 2,
          rewinds: 3,
          marked_ms: NOW_MS,
          lost: 4,
          left_out: 5,
        })
        await store.append(batch({ chain: whole }))

        const again = await open()
        onTestFinished(() => again.close())

        expect(await again.chain('dev_1')).toEqual(whole)
      })

      it('is moved by a batch without rows', async () => {
        await store.append(batch())
        await store.append(batch({ chain: chain(5), follows: NOW_MS + 1 }))

        expect(await store.chain('dev_1')).toEqual(chain(5))
      })
    })

    describe('a batch', () => {
      it('is refused entirely when the chain has changed since it was read', async () => {
        await store.append(batch({ rows: [row()] }))
        const stale = [
          batch({ rows: [row()], losses: [loss(1)] }),
          batch({ rows: [row()], losses: [loss(1)], chain: chain(2), follows: NOW_MS }),
          batch({ rows: [row()], chain: chain(2), follows: NOW_MS + 1, org: 'other' }),
        ]

        for (const each of stale) await expect(store.append(each)).rejects.toThrow(conflict)

        expect(await store.chain('dev_1')).toEqual(chain(1))
        expect(await listAll(store)).toHaveLength(1)
        expect(await listAll(store, {}, { org: 'other' })).toEqual([])
        expect(await store.losses('acme', 'dev_1', EVERYTHING)).toEqual([])
        expect(await store.days()).toEqual([{ day: TODAY, rows: 1 }])
      })

      it('is refused when it follows a chain that is not there', async () => {
        await expect(store.append(batch({ follows: NOW_MS }))).rejects.toThrow(conflict)

        expect(await store.chain('dev_1')).toBeNull()
      })

      it('is written once of many that follow the same chain', async () => {
        await store.append(batch())

        const outcomes = await Promise.allSettled(
          Array.from({ length: 8 }, (_, index) =>
            store.append(batch({ rows: [row()], chain: chain(2 + index), follows: NOW_MS + 1 })),
          ),
        )

        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
        expect(await listAll(store)).toHaveLength(1)
      })

      it('cannot be written twice within one millisecond, or by a clock set back', async () => {
        const at = (received_ms: number, follows: number | null) =>
          batch({ rows: [row()], chain: chain(1, { received_ms }), follows })
        await store.append(at(NOW_MS, null))
        await store.append(at(NOW_MS, NOW_MS))

        await expect(store.append(at(NOW_MS, NOW_MS))).rejects.toThrow(conflict)
        const known = (await store.chain('dev_1'))?.received_ms ?? 0
        expect(known).toBeGreaterThan(NOW_MS)
        await store.append(at(NOW_MS - DAY_MS, known))
        await expect(store.append(at(NOW_MS - DAY_MS, known))).rejects.toThrow(conflict)

        expect(await listAll(store)).toHaveLength(3)
      })

      it('gives ids that ascend in the order of arrival, also to devices at once', async () => {
        await Promise.all(
          Array.from({ length: 12 }, (_, index) =>
            store.append(
              batch({
                device_id: `dev_${index}`,
                rows: Array.from({ length: 20 }, (_value, place) =>
                  row({ last_ms: NOW_MS - place, tuple: { host: `h${place % 7}.example` } }),
                ),
              }),
            ),
          ),
        )
        await appendRows(store, [row()], { device_id: 'late' })

        const ids = (await listAll(store)).map(({ id }) => id).toSorted((one, other) => one - other)
        expect(new Set(ids).size).toBe(241)
        const [late] = await listAll(store, { device_id: 'late' })
        expect(late?.id).toBe(ids.at(-1))
      })

      it('of 5,000 different rows is stored whole', async () => {
        const rows = Array.from({ length: 5_000 }, (_, index) =>
          row({
            last_ms: NOW_MS - index * 1000,
            tuple: { path: `/srv/${index}`, host: null, port: null, action: 'file:read' },
          }),
        )
        await store.append(batch({ rows }))

        const stored = await listAll(store, {}, { limit: 1000 })
        expect(stored.map((each) => each.tuple.path)).toEqual(rows.map((each) => each.tuple.path))
      })
    })

    describe('losses', () => {
      it('of a device are counted by reason within a time', async () => {
        await store.append(
          batch({
            losses: [loss(1), loss(2), { ...loss(4), reason: 'gap' }, loss(8, NOW_MS - DAY_MS)],
          }),
        )
        await store.append(batch({ device_id: 'dev_2', losses: [loss(16)] }))
        await store.append(batch({ device_id: 'dev_3', org: 'other', losses: [loss(32)] }))

        const present = { fromMs: NOW_MS, toMs: NOW_MS + 1 }
        expect(await store.losses('acme', 'dev_1', present)).toEqual([
          { reason: 'gap', lost: 4, at_ms: NOW_MS },
          { reason: 'queue_full', lost: 3, at_ms: NOW_MS },
        ])
        expect(await store.losses('acme', 'dev_2', present)).toMatchObject([{ lost: 16 }])
        expect(await store.losses('acme', 'dev_3', present)).toEqual([])
        expect(await store.losses('acme', 'dev_1', { fromMs: 0, toMs: NOW_MS })).toEqual([
          { reason: 'queue_full', lost: 8, at_ms: NOW_MS - DAY_MS },
        ])
      })

      it('of a machine that claims the largest numbers can still be counted', async () => {
        const largest = Number.MAX_SAFE_INTEGER
        await store.append(batch({ losses: Array.from({ length: 2_000 }, () => loss(largest)) }))

        const [counted] = await store.losses('acme', 'dev_1', EVERYTHING)
        expect(Number.isSafeInteger(counted?.lost)).toBe(true)
        expect(counted?.lost).toBeGreaterThan(1_000_000_000)
      })
    })

    describe('days', () => {
      const atDay = (day: number, host = 'a.example') =>
        row({ last_ms: day * DAY_MS + 1000, tuple: { host } })

      it('count the rows of all organizations', async () => {
        await store.append(batch({ rows: [atDay(TODAY), atDay(TODAY - 1), atDay(TODAY)] }))
        await store.append(batch({ org: 'other', device_id: 'o', rows: [atDay(TODAY)] }))

        expect(await store.days()).toEqual([
          { day: TODAY - 1, rows: 1 },
          { day: TODAY, rows: 3 },
        ])
      })

      it('are removed with their rows, losses and tuples, and leave all others', async () => {
        await store.append(
          batch({
            rows: [
              atDay(TODAY - 9, 'old.example'),
              atDay(TODAY - 9, 'both.example'),
              atDay(TODAY - 2, 'both.example'),
              atDay(TODAY - 2, 'new.example'),
            ],
            losses: [loss(1, (TODAY - 9) * DAY_MS), loss(2, (TODAY - 2) * DAY_MS)],
          }),
        )

        expect(await store.dropBefore(TODAY - 2)).toBe(2)

        expect(await store.days()).toEqual([{ day: TODAY - 2, rows: 2 }])
        const hosts = (await listAll(store)).map((each) => each.tuple.host)
        expect(new Set(hosts)).toEqual(new Set(['both.example', 'new.example']))
        expect(await store.losses('acme', 'dev_1', EVERYTHING)).toMatchObject([{ lost: 2 }])
        expect(await store.chain('dev_1')).toEqual(chain(1))
        expect(await store.dropBefore(TODAY - 2)).toBe(0)
      })

      it('that were removed can get rows again', async () => {
        await appendRows(store, [atDay(TODAY - 9)])
        await store.dropBefore(TODAY)

        await appendRows(store, [atDay(TODAY - 9), atDay(TODAY)])

        expect(await store.days()).toEqual([
          { day: TODAY - 9, rows: 1 },
          { day: TODAY, rows: 1 },
        ])
        expect(await listAll(store, { text: 'a.example' })).toHaveLength(2)
      })

      it('can be removed while batches arrive', async () => {
        const appends = Array.from({ length: 20 }, (_, index) =>
          store.append(
            batch({ device_id: `dev_${index}`, rows: [atDay(TODAY - (index % 10)), atDay(TODAY)] }),
          ),
        )
        const removals = Array.from({ length: 4 }, () => store.dropBefore(TODAY - 3))
        await Promise.all([...appends, ...removals])
        await store.dropBefore(TODAY - 3)

        const rows = await listAll(store)
        const days = await store.days()
        expect(days.map(({ day }) => day)).toEqual([TODAY - 3, TODAY - 2, TODAY - 1, TODAY])
        expect(rows).toHaveLength(days.reduce((sum, each) => sum + each.rows, 0))
        for (let index = 0; index < 20; index += 1)
          expect(await store.chain(`dev_${index}`)).not.toBeNull()
      })

      it('of 1970 and 2200 are days like all others', async () => {
        const [first, last] = [1000, Date.parse('2200-12-31T23:59:59Z')]
        await store.append(
          batch({ rows: [row({ last_ms: first }), row({ last_ms: last }), atDay(TODAY)] }),
        )

        expect((await listAll(store)).map(({ last_ms }) => last_ms)).toEqual([
          last,
          TODAY * DAY_MS + 1000,
          first,
        ])
        expect(await store.dropBefore(TODAY)).toBe(1)
        expect(await listAll(store)).toHaveLength(2)
      })
    })

    it('answers pings until it is closed, and then refuses all work', async () => {
      await store.ping()
      const other = await open()

      await other.close()

      const refused = expect.objectContaining({ code: 'ERR_STORE_UNAVAILABLE' }) as Error
      await expect(other.ping()).rejects.toThrow(refused)
      await expect(other.append(batch())).rejects.toThrow(refused)
      await expect(other.chain('dev_1')).rejects.toThrow(refused)
    })

    describeEvidenceLists(() => store)
    describeEvidenceTallies(() => store)
    describeRuleUse(() => store)
    describeExports(() => store)
    describeEvidenceLimits(() => store)
    describeDroppedEvidence(() => store)
  })
}

function loss(lost: number, at_ms = NOW_MS) {
  return { at_ms, lost, reason: 'queue_full' }
}
