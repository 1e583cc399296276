import type { MatchSet } from '../match-set.ts'
import { ASCII, CharRows, ODD_CLASS } from './char-rows.ts'
import type { PathLimits } from './path-limits.ts'
import { START, type PatternStates } from './pattern-states.ts'
import type { PatternTrie } from './pattern-trie.ts'
import { MAX_PATH_LENGTH, SLASH } from './plain-path.ts'
import { enlarged } from '../enlarged.ts'

/** Table entry for a step that will never be computed. 0 means not computed yet. */
const IMPOSSIBLE = -1

/**
 * Reads paths character by character, with one table access and no unpredictable branch for each.
 * Faster than reading by names, for policies whose few patterns fit the table. bench: decide/paths
 */
export class CharAutomaton {
  readonly #states: PatternStates
  readonly #limits: PathLimits
  readonly #rows: CharRows
  readonly #classes: Uint8Array
  readonly #shift: number
  /** The next row, by row and class, times the width of a row. */
  #table: Int32Array
  #added = 0

  constructor(trie: PatternTrie, states: PatternStates, limits: PathLimits) {
    this.#states = states
    this.#limits = limits
    this.#rows = new CharRows(trie, states, limits)
    this.#classes = this.#rows.classes
    this.#shift = Math.ceil(Math.log2(this.#rows.classCount))
    this.#table = new Int32Array(8 << this.#shift)
  }

  /** Whether the table has no room left, so that it can never answer more paths than now. */
  isFull(): boolean {
    return this.#rows.isFull()
  }

  /** The match set of a plain path; null when the path is not plain, undefined when unknown. */
  find(path: string): MatchSet | null | undefined {
    const length = path.length
    if (path.charCodeAt(0) !== SLASH || length > MAX_PATH_LENGTH) return null
    if (length === 1) return this.#states.matches(START)
    this.#added = 0
    const classes = this.#classes
    let table = this.#table
    let row = this.#rows.start << this.#shift
    for (let at = 1; at < length; at += 1) {
      const code = path.charCodeAt(at)
      const charClass = code < ASCII ? classes[code]! : ODD_CLASS
      let next = table[row + charClass]!
      if (next <= 0) {
        next = this.#add(row, charClass)
        if (next === IMPOSSIBLE) return undefined
        table = this.#table
      }
      row = next
    }
    return this.#rows.matches(row >> this.#shift)
  }

  #add(row: number, charClass: number): number {
    if (this.#table[row + charClass] === IMPOSSIBLE) return IMPOSSIBLE
    this.#added += 1
    if (this.#added > this.#limits.addedByPath) return IMPOSSIBLE
    const next = this.#rows.after(row >> this.#shift, charClass)
    const entry = next === null ? IMPOSSIBLE : next << this.#shift
    if (entry + (1 << this.#shift) > this.#table.length)
      this.#table = enlarged(this.#table, entry + (1 << this.#shift))
    this.#table[row + charClass] = entry
    return entry
  }
}
