import type { EvidenceTally } from '../store/evidence-store.ts'

/** The decisions of one subject that have one tuple. */
export interface SightingRow extends Pick<EvidenceTally, 'decisions' | 'first_ms' | 'last_ms'> {
  readonly tuple: number
  /** The number of a device and a user. */
  readonly subject: number
}

/** Sums of decisions by tuple and subject. */
export interface SightingTable {
  /** Rows that are not removed. */
  size(): number
  /** Whether the row was there. */
  addTo(subject: number, tally: EvidenceTally): boolean
  /** Returns the number of the row. At most `most` rows at a time. */
  insert(subject: number, tally: EvidenceTally): number
  /** Returns its decisions. */
  remove(row: number): number
  at(row: number): SightingRow
  tupleOf(row: number): number
  subjectOf(row: number): number
  /** The numbers of all rows, by the rank of their subject, then by tuple. */
  sorted(ranks: ArrayLike<number>): Int32Array
}

const REMOVED = -1
/** Removed rows keep their slot; there are at most as many of them as rows. */
const SLOTS_OF_ROW = 4

/** Columns: an object for each row takes five times the memory. // bench: evidence/replay */
export function createSightingTable(most: number): SightingTable {
  const tuples = new Float64Array(most)
  const subjects = new Int32Array(most)
  const decisions = new Float64Array(most)
  const firsts = new Float64Array(most)
  const lasts = new Float64Array(most)
  /** Slots by a hash of tuple and subject: 1 + the number of a row, or 0. */
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(SLOTS_OF_ROW * most + 1)))
  const free: number[] = []
  let used = 0

  /** The slot of the row, or the empty one where it belongs. */
  function findSlot(tuple: number, subject: number): number {
    const mask = slots.length - 1
    let slot = hash(tuple, subject) & mask
    for (;;) {
      const row = (slots[slot] ?? 0) - 1
      if (row === -1 || (tuples[row] === tuple && subjects[row] === subject)) return slot
      slot = (slot + 1) & mask
    }
  }

  return {
    size: () => used - free.length,
    addTo(subject, tally) {
      const row = (slots[findSlot(tally.tuple, subject)] ?? 0) - 1
      if (row === -1) return false
      decisions[row] = (decisions[row] ?? 0) + tally.decisions
      firsts[row] = Math.min(firsts[row] ?? Infinity, tally.first_ms)
      lasts[row] = Math.max(lasts[row] ?? 0, tally.last_ms)
      return true
    },
    insert(subject, tally) {
      const row = free.pop() ?? used++
      if (row >= most) throw new RangeError('the table is full')
      slots[findSlot(tally.tuple, subject)] = row + 1
      tuples[row] = tally.tuple
      subjects[row] = subject
      decisions[row] = tally.decisions
      firsts[row] = tally.first_ms
      lasts[row] = tally.last_ms
      return row
    },
    remove(row) {
      subjects[row] = REMOVED
      free.push(row)
      return decisions[row] ?? 0
    },
    at: (row) => ({
      tuple: tuples[row] ?? 0,
      subject: subjects[row] ?? REMOVED,
      decisions: decisions[row] ?? 0,
      first_ms: firsts[row] ?? 0,
      last_ms: lasts[row] ?? 0,
    }),
    tupleOf: (row) => tuples[row] ?? 0,
    subjectOf: (row) => subjects[row] ?? REMOVED,
    sorted(ranks) {
      const rows = new Int32Array(used - free.length)
      let count = 0
      for (let row = 0; row < used; row += 1) if (subjects[row] !== REMOVED) rows[count++] = row
      const rankOf = (row: number): number => ranks[subjects[row] ?? 0] ?? 0
      return rows.toSorted((a, b) => rankOf(a) - rankOf(b) || (tuples[a] ?? 0) - (tuples[b] ?? 0))
    },
  }
}

function hash(tuple: number, subject: number): number {
  const mixed = Math.imul(tuple | 0, 0x9e3779b1) ^ Math.imul(subject + 1, 0x85ebca6b)
  return (mixed ^ (mixed >>> 15)) >>> 0
}
