import { ITEMS_A_STEP, type Steps } from '../../steps.ts'

/** A hash table of positions in a list, whose searches go from cell to cell. */
export interface Cells {
  /** Pairs of hash and position + 1, at least half of them empty. */
  readonly cells: Int32Array
  /** From a hash to its cell. */
  readonly mask: number
}

/**
 * Maximum distance of a name from the cell of its hash. Otherwise names with colliding hashes could
 * turn a search into a scan. Names that do not fit are looked up in a `Map`.
 */
const MAX_STEPS = 32

/**
 * Maximum run of occupied cells. A search for an absent name walks to the end of a run, even if
 * each name is in the cell of its hash. Ordinary names stay far below this limit.
 */
const MAX_RUN = 128

/**
 * Tables of up to this many cells (32 KiB) are at most a quarter full instead of half, because a
 * processor predicts empty cells better. In larger tables the memory would cost more. bench: hosts
 */
const MAX_SPARSE = 1 << 12

/** A table of the non-null hashes, by position; null when a search could be long. */
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
  // A longer run covers one of these cells. A run, like a search, wraps around to the beginning.
  for (let cell = 0; cell <= mask; cell += MAX_RUN) {
    let run = 0
    for (let at = cell; run <= MAX_RUN && isTaken(at); at += 1) run += 1
    for (let at = cell - 1; run > 0 && run <= MAX_RUN && isTaken(at); at -= 1) run += 1
    if (run > MAX_RUN) return true
  }
  return false
}
