import { describe, expect, it } from 'vitest'
import {
  buildExactNames,
  buildTable as buildExactTable,
  signName,
} from '../../../../packages/policy-core/src/lookup/name/exact-names.ts'
import { hashDomain } from '../../../../packages/policy-core/src/lookup/name/name-scan.ts'
import { hasLongRun } from '../../../../packages/policy-core/src/lookup/name/probing.ts'
import {
  buildSuffixTable,
  buildTable as buildSuffixCells,
} from '../../../../packages/policy-core/src/lookup/name/suffix-table.ts'
import { runSteps } from '../../../../packages/policy-core/src/steps.ts'

const SIZE = 1024

/** Creates cells with a run of taken ones, which wraps around at the end. */
function taken(first: number, count: number): Int32Array {
  const cells = new Int32Array(2 * SIZE)
  for (let cell = first; cell < first + count; cell += 1) cells[2 * (cell % SIZE) + 1] = 1
  return cells
}

describe('hasLongRun', () => {
  it('finds a run of taken cells at any position, including across the end', () => {
    for (let first = 0; first < SIZE; first += 1) {
      expect(hasLongRun(taken(first, 129)), `129 from ${first}`).toBe(true)
      expect(hasLongRun(taken(first, 128)), `128 from ${first}`).toBe(false)
    }
  })

  it('returns false when free cells separate the taken ones', () => {
    const cells = taken(0, SIZE)
    for (let cell = 0; cell < SIZE; cell += 100) cells[2 * cell + 1] = 0

    expect(hasLongRun(cells)).toBe(false)
  })
})

describe('names whose cells form one run without collisions', () => {
  const exact = inOneRun(512, signName)
  const suffixes = inOneRun(512, (domain) => {
    const mixed = Math.imul(hashDomain(domain), 0x9e37_79b1)
    return mixed ^ (mixed >>> 15)
  })

  it('are not stored in a table, where a search for another name would scan the run', () => {
    expect(runSteps(buildExactTable(exact))).toBeNull()
    expect(runSteps(buildSuffixCells(suffixes))).toBeNull()
  })

  it('are found nevertheless, and no other names', () => {
    const names = runSteps(buildExactNames(exact))
    const domains = runSteps(buildSuffixTable(suffixes))

    expect(exact.map((name) => names.find(name))).toEqual([...exact.keys()])
    expect(suffixes.map((domain) => domains.find(`a.${domain}`))).toEqual(
      suffixes.map((_, position) => 2 * position + 1),
    )
    expect(names.find('absent.example')).toBe(-1)
    expect(domains.find('a.absent.example')).toBe(-1)
  })

  it('are distinguished from ordinary names', () => {
    const ordinary = Array.from({ length: 512 }, (_, index) => `${index.toString(36)}.example`)

    expect(runSteps(buildExactTable(ordinary))).not.toBeNull()
    expect(runSteps(buildSuffixCells(ordinary))).not.toBeNull()
  })
})

/** Returns names for the first cells of a table four times as large, one per cell. */
function inOneRun(count: number, hash: (name: string) => number): string[] {
  const names = new Map<number, string>()
  for (let index = 0; names.size < count; index += 1) {
    const label = Math.imul(index, 0x9e37_79b1) >>> 0
    const first = label.toString(36).padStart(7, '0')
    const name = `${first}${label.toString(16).padStart(8, '0')}.example`
    const cell = hash(name) & (4 * count - 1)
    if (cell < count) names.set(cell, name)
  }
  return [...names.values()]
}
