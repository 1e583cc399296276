import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSightingTable } from '../../../../server/src/evidence/observed/sighting-table.ts'
import { everyCase } from '../../../policy-core/every-case.ts'

const MOST = 20
/** Keys beyond 32 bits, which hash like small ones. */
const TUPLES = [1, 2, 3, 2 ** 32 + 1, 2 ** 52]

describe('a table of sightings', () => {
  it('≡ a map by tuple and subject, with removals', () => {
    const steps = fc.array(
      fc.record({
        tuple: fc.constantFrom(...TUPLES),
        subject: fc.nat(9),
        decisions: fc.integer({ min: 1, max: 2 ** 40 }),
        at: fc.nat(2 ** 42),
        removes: fc.boolean(),
      }),
      { maxLength: 40 },
    )

    everyCase({ runs: 200 }, steps, (each) => {
      const table = createSightingTable(MOST)
      const expected = new Map<string, { row: number; sum: number; first: number; last: number }>()
      const removed: [number, number][] = []
      let inserted = 0
      for (const { tuple, subject, decisions, at, removes } of each) {
        const key = `${tuple} ${subject}`
        const tally = { source: 0, tuple, decisions, first_ms: at, last_ms: at }
        const known = expected.get(key)
        expect(table.addTo(subject, tally)).toBe(known !== undefined)
        if (known !== undefined && removes) {
          removed.push([table.remove(known.row), known.sum + decisions])
          expected.delete(key)
        } else if (known !== undefined) {
          known.sum += decisions
          known.first = Math.min(known.first, at)
          known.last = Math.max(known.last, at)
        } else if (expected.size < MOST && inserted < 2 * MOST) {
          inserted += 1
          const row = table.insert(subject, tally)
          expected.set(key, { row, sum: decisions, first: at, last: at })
        }
      }

      const rows = [...table.sorted([])].map((row) => table.at(row))
      expect(removed.map(([sum]) => sum)).toEqual(removed.map(([, sum]) => sum))
      expect(table.size()).toBe(expected.size)
      expect(rows.map(({ tuple }) => tuple)).toEqual(
        rows.map(({ tuple }) => tuple).toSorted(byValue),
      )
      expect(new Map(rows.map((row) => [`${row.tuple} ${row.subject}`, row.decisions]))).toEqual(
        new Map([...expected].map(([key, { sum }]) => [key, sum])),
      )
      for (const { tuple, subject, first_ms, last_ms } of rows)
        expect(expected.get(`${tuple} ${subject}`)).toMatchObject({
          first: first_ms,
          last: last_ms,
        })
    })
  })

  it('sorts its rows by the rank of their subject first', () => {
    const table = createSightingTable(9)
    for (const [subject, tuple] of [
      [0, 1],
      [1, 1],
      [0, 2],
      [1, 0],
    ] as const)
      table.insert(subject, { source: 0, tuple, decisions: 1, first_ms: 0, last_ms: 0 })

    const rows = [...table.sorted([7, 3])].map((row) => table.at(row))

    expect(rows.map(({ subject, tuple }) => [subject, tuple])).toEqual([
      [1, 0],
      [1, 1],
      [0, 1],
      [0, 2],
    ])
  })
})

function byValue(one: number, other: number): number {
  return one - other
}
