import type { PathLimits } from './path-limits.ts'
import type { LabelledGlob } from './pattern-labels.ts'
import type { PatternStates } from './pattern-states.ts'
import { NONE } from './token-trie.ts'
import { MAX_TRIED, simpleGlobs } from './simple-globs.ts'

/**
 * A stand is four times a state, plus the traits of the state that are needed at every name. A
 * look-up of the traits by state would be another cache miss.
 */
export const STAND = 4
/** Further names cannot change the result. */
export const IS_SETTLED = 1
/** A name with `*` is expected. */
export const HAS_GLOBS = 2

/** Positions of reading, created from states as these are reached. */
export class Stands {
  readonly #states: PatternStates
  readonly #maxAdded: number
  /** Traits by state. */
  #traits: number[] = []
  #globs: (readonly LabelledGlob[] | null)[] = []
  #unlabelled: number[] = []
  #added = 0

  constructor(states: PatternStates, limits: PathLimits) {
    this.#states = states
    this.#maxAdded = limits.addedByPath
  }

  /** The stand in a state. */
  of(state: number): number {
    for (let next = this.#traits.length; next <= state; next += 1) {
      const globs = simpleGlobs(this.#states.globsBelow(next, MAX_TRIED))
      const isSettled = this.#states.isSettled(next)
      this.#traits.push((isSettled ? IS_SETTLED : 0) | (globs?.length === 0 ? 0 : HAS_GLOBS))
      this.#globs.push(globs)
      this.#unlabelled.push(NONE)
    }
    return STAND * state + this.#traits[state]!
  }

  /** The stand after a name with these labels; `NONE` when the path must be walked. */
  advance(stand: number, labels: readonly number[]): number {
    // A step takes as long as there are labels.
    this.#added += Math.max(1, labels.length)
    if (this.#added > this.#maxAdded) return NONE
    const state = this.#states.advance(stateOf(stand), labels)
    return state === null ? NONE : this.of(state)
  }

  /** The stand after a name without any label, likewise. */
  advanceUnlabelled(stand: number): number {
    const state = stateOf(stand)
    const known = this.#unlabelled[state]!
    return known === NONE ? (this.#unlabelled[state] = this.advance(stand, [])) : known
  }

  /** The globs to try; null when they are too many or too complex. */
  globs(stand: number): readonly LabelledGlob[] | null {
    return this.#globs[stateOf(stand)]!
  }

  /** Called before each path, which may add only so much. */
  begin(): void {
    this.#added = 0
  }

  clear(): void {
    this.#traits = []
    this.#globs = []
    this.#unlabelled = []
  }
}

export function stateOf(stand: number): number {
  return stand >> 2
}
