import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Occurrences } from '../../../../packages/policy-core/src/lookup/path/occurrences.ts'
import { Pieces } from '../../../../packages/policy-core/src/lookup/path/pieces.ts'
import { everyCase } from '../../every-case.ts'

const text = (maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom('a', 'b', '\u00e9'), maxLength })

test('pieces are found at the start, at the end and leftmost within', () => {
  const cases = fc.record({
    pieces: fc.array(text(3), { maxLength: 12 }),
    name: text(12),
    from: fc.integer({ min: 0, max: 6 }),
  })

  const outcomes = everyCase({ runs: 20_000 }, cases, ({ pieces, name, ...given }, tally) => {
    const from = Math.min(given.from, name.length)
    const all = new Pieces<string>()
    for (const piece of pieces) expect(all.getOrAdd(piece, () => piece)).toBe(piece)
    const distinct = [...new Set(pieces)]
    // Reuses the same pieces for several names.
    const occurrences = new Occurrences()
    for (const piece of distinct) if (piece !== '') occurrences.add(piece)
    occurrences.begin(name + name)
    all.within(occurrences, 0, name.length * 2, () => undefined)
    occurrences.begin(name)
    const starting = distinct.filter((piece) => name.startsWith(piece))
    const ending = distinct.filter(
      (piece) => piece !== '' && name.endsWith(piece) && name.length - piece.length >= from,
    )
    const within = distinct.filter((piece) => piece !== '' && name.includes(piece, from))

    expect(ends((found) => all.atStart(name, found))).toEqual(
      sorted(starting.map((piece) => [piece, piece.length])),
    )
    // An empty last piece belongs to a glob that ends in `*`, which `atEnd` is not used for.
    expect(ends((found) => all.atEnd(name, from, found)).filter(([piece]) => piece !== '')).toEqual(
      sorted(ending.map((piece) => [piece, name.length])),
    )
    expect(
      ends((found) => all.within(occurrences, from, name.length, found)).filter(
        ([piece]) => piece !== '',
      ),
    ).toEqual(sorted(within.map((piece) => [piece, name.indexOf(piece, from) + piece.length])))
    tally(distinct.length < 2 ? 'one or none' : within.length > 0 ? 'some found' : 'none found')
  })

  expect(
    outcomes.rarerThan({ 'one or none': 0.05, 'some found': 0.3, 'none found': 0.02 }),
  ).toEqual([])
})

type End = readonly [piece: string, end: number]

function ends(look: (found: (piece: string, end: number) => void) => number): readonly End[] {
  const all: End[] = []
  look((piece, end) => all.push([piece, end]))
  return sorted(all)
}

function sorted(all: readonly End[]): readonly End[] {
  return all.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}
