import type { MatchSet } from '../match-set.ts'
import { createIntSets, type IntSets } from './int-sets.ts'
import { createLabelTexts, type LabelTexts } from './label-texts.ts'
import type { PathLimits } from './path-limits.ts'
import { START, type PatternStates } from './pattern-states.ts'
import type { PatternTrie } from './pattern-trie.ts'
import { NONE } from './token-trie.ts'
import { isOdd, SLASH } from './plain-path.ts'

const DOT = 0x2e
/** Number of characters with a class. */
export const ASCII = 128
/** Represents every plain character outside all labels. */
const OTHER = -1
/** Represents every character that is not plain. */
const ODD = -2

/** The class of those, and the others that every automaton has. */
export const ODD_CLASS = 0
const SLASH_CLASS = 1
const DOT_CLASS = 2
const OTHER_CLASS = 3

/** State of the current name: empty, `.`, `..`, or a real name. */
const EMPTY = 0
const ONE_DOT = 1
const TWO_DOTS = 2
const NAME = 3

/** The row of paths that are not plain. Row 0 is unused. */
const REFUSED = 1
/** Maximum number of label positions in a row. */
const MAX_POSITIONS = 256

/**
 * The meaning of the rows of a character automaton: the state before the current name, the state of
 * that name, and the matched part of each label.
 */
export class CharRows {
  /** Classes of characters by ASCII code. Each plain one in a label has its own. */
  readonly classes: Uint8Array = new Uint8Array(ASCII).fill(OTHER_CLASS)
  readonly start: number
  readonly #characters: number[] = [ODD, SLASH, DOT, OTHER]
  readonly #trie: PatternTrie
  readonly #states: PatternStates
  readonly #texts: LabelTexts
  readonly #rows: IntSets
  /** States of paths that end in a row, by row; `NONE` when that is not plain. */
  readonly #ends: number[] = []
  #isFull = false

  constructor(trie: PatternTrie, states: PatternStates, limits: PathLimits) {
    this.#trie = trie
    this.#states = states
    this.#texts = createLabelTexts(trie.labels)
    this.#setClasses()
    this.#rows = createIntSets(limits.charRows, limits.stateNodes)
    this.#rows.intern(new Int32Array(0), 0)
    this.#rows.intern(Int32Array.of(REFUSED), 1)
    const start = this.#begin(START)
    this.#isFull = start === null
    this.start = start ?? REFUSED
  }

  get classCount(): number {
    return this.#characters.length
  }

  /** Whether there is no room for rows that are needed. */
  isFull(): boolean {
    return this.#isFull || this.#states.isFull()
  }

  /** The row after a character of the class; null when it gets none. */
  after(row: number, charClass: number): number | null {
    const character = this.#characters[charClass]!
    if (row === REFUSED || character === ODD) return REFUSED
    const [state, began] = this.#rows.members(row)
    if (character !== SLASH) {
      const positions = this.#texts.after(this.#positionsOf(row), character)
      return this.#rowOf(state!, beganAfter(began!, character), positions)
    }
    if (began !== NAME) return REFUSED
    const next = this.#stateAfter(row)
    return next === null ? null : this.#begin(next)
  }

  /** The match set of a path that ends there; null when it is not plain, undefined when unknown. */
  matches(row: number): MatchSet | null | undefined {
    const state = this.#ends[row] ?? this.#findEnd(row)
    if (state === null) return undefined
    return state === NONE ? null : this.#states.matches(state)
  }

  #findEnd(row: number): number | null {
    const isName = row !== REFUSED && this.#rows.members(row)[1] === NAME
    const state = isName ? this.#stateAfter(row) : NONE
    if (state !== null) this.#ends[row] = state
    return state
  }

  #setClasses(): void {
    for (let code = 0; code < ASCII; code += 1) if (isOdd(code)) this.classes[code] = ODD_CLASS
    this.classes[SLASH] = SLASH_CLASS
    this.classes[DOT] = DOT_CLASS
    for (const code of this.#texts.characters) {
      if (this.classes[code] !== OTHER_CLASS) continue
      this.classes[code] = this.#characters.length
      this.#characters.push(code)
    }
  }

  #positionsOf(row: number): Int32Array {
    return this.#rows.members(row).subarray(2)
  }

  #begin(state: number): number | null {
    return this.#rowOf(state, EMPTY, this.#texts.begin(this.#labelsBelow(state)))
  }

  #rowOf(state: number, began: number, positions: Int32Array): number | null {
    if (positions.length > MAX_POSITIONS) return null
    const row = this.#rows.intern(Int32Array.of(state, began, ...positions), positions.length + 2)
    this.#isFull ||= row === null
    return row
  }

  #stateAfter(row: number): number | null {
    const [state] = this.#rows.members(row)
    return this.#states.advance(state!, this.#texts.endedAt(this.#positionsOf(row)))
  }

  #labelsBelow(state: number): number[] {
    const { labels, byLabel, labelStart, parent } = this.#trie
    const nodes = new Set(this.#states.nodes(state))
    const below: number[] = []
    for (let label = 0; label < labels.count; label += 1) {
      const children = byLabel.subarray(labelStart[label], labelStart[label + 1])
      if (children.some((child) => nodes.has(parent[child]!))) below.push(label)
    }
    return below
  }
}

function beganAfter(began: number, character: number): number {
  if (character !== DOT) return NAME
  if (began === EMPTY) return ONE_DOT
  return began === ONE_DOT ? TWO_DOTS : NAME
}
