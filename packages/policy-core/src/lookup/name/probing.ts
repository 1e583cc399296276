import { ITEMS_A_STEP, type Steps } from '../../steps.ts'

/** A hash table of positions in a list, whose searches go from cell to cell. */
export interface Cells {
  /** Pairs of hash and position + 1, at least half of them empty. */
  readonly cells: Int32Array
  /** From a hash to its cell. */
  readonly mask: number
}

/**
 * How far a name may be put from where its hash points. Names made to collide could otherwise turn
 * a search into a scan; where this is not enough, they are looked up in a `Map` instead.
 */
const MAX_STEPS = 32

/**
 * How many cells in a row may be taken: a search for what is not there walks to the end of them,
 * although every name may be where its hash points. Of names that are no trick, 46 stood in a row
 * at most (measured: up to 65,536 of four kinds).
 */
const MAX_RUN = 128

/**
 * Tables up to so many cells (32 KiB) are at most a quarter full instead of half: whether a cell is
 * taken is what a processor guesses wrong. A suffix is then found in a twelfth less time. Beyond it
 * the memory costs more: an exact name among 6,500 would take half as long again.
 */
const MAX_SPARSE = 1 << 12

/** A table of the hashes that are not null, by position; null when a search could be long. */
export function* placeHashes(hashes: readonly (number | null)[]): Steps<Cells | null> {
  let size = 8
  while (size < hashes.length * 2 || (size < hashes.length * 4 && size < MAX_SPARSE)) size *= 2
  const cells = new Int32Array(size * 2)
  const mask = size - 1
  for (let position = 0; position < hashes.length; position += 1) {
    if (position % ITEMS_A_STEP === 0) yield
    const hash = hashes[position]!
    if (hash === null) continue
    let cell = hash & mask
    let steps = 0
    while (cells[2 * cell + 1] !== 0) {
      steps += 1
      if (steps > MAX_STEPS) return null
      cell = (cell + 1) & mask
    }
    cells[2 * cell] = hash
    cells[2 * cell + 1] = position + 1
  }
  return hasLongRun(cells) ? null : { cells, mask }
}

/** Tells whether a search could be long among the cells. */
export function hasLongRun(cells: Int32Array): boolean {
  const mask = cells.length / 2 - 1
  const isTaken = (cell: number): boolean => cells[2 * (cell & mask) + 1] !== 0
  // A longer run takes one of these. It may go on at the beginning, as a search does.
  for (let cell = 0; cell <= mask; cell += MAX_RUN) {
    let run = 0
    for (let at = cell; run <= MAX_RUN && isTaken(at); at += 1) run += 1
    for (let at = cell - 1; run > 0 && run <= MAX_RUN && isTaken(at); at -= 1) run += 1
    if (run > MAX_RUN) return true
  }
  return false
}
