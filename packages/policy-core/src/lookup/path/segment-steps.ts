import type { MatchSet } from '../match-set.ts'
import type { GlobFinder } from './glob-finder.ts'
import { createIntSets, type IntSets } from './int-sets.ts'
import { MAX_EXACT, NameCode } from './name-code.ts'
import type { PathLimits } from './path-limits.ts'
import { START, type PatternStates } from './pattern-states.ts'
import type { PatternTrie } from './pattern-trie.ts'
import { NONE } from './token-trie.ts'
import { matchSimpleGlobs, standsAt } from './simple-globs.ts'
import { HAS_GLOBS, STAND, Stands } from './stands.ts'
import { Transitions } from './transitions.ts'

/**
 * Kinds of transition, beside the state in its key: by the code of a name, by the globs that it
 * matches, or by its label. A code identifies only a short name, so a long name must never pass for
 * a short one.
 */
const SHORT = 0
const LONG = 1
const GLOBS = 2
const LABEL = 3

/**
 * The steps from stand to stand by name, each computed at first use. All return the stand after the
 * name in `path` from `from` to `to`, or `NONE`.
 *
 * When the store is full, missing steps are walked, and only after many such misses is the store
 * emptied. It therefore cannot thrash when paths differ more than it has room for.
 */
export class SegmentSteps {
  readonly #literals: ReadonlyMap<string, number>
  readonly #states: PatternStates
  readonly #limits: PathLimits
  readonly #finder: GlobFinder
  readonly #globSets: IntSets
  readonly #stands: Stands
  readonly #transitions: Transitions
  readonly #code = new NameCode()
  /** The globs found in the current path, by start of the name: finding them is the main cost. */
  readonly #found = new Map<number, readonly number[]>()
  /** Long names by code, because their codes may collide by chance or by design. */
  #longNames: { readonly name: string; readonly next: number }[] = []
  /** Names by label. A name cut out of a path would keep that whole path in memory. */
  readonly #names: string[] = []
  #start: number
  #isFull = false

  constructor({ labels, globFinder }: PatternTrie, states: PatternStates, limits: PathLimits) {
    this.#literals = labels.literals
    for (const [name, label] of labels.literals) this.#names[label] = name
    this.#states = states
    this.#limits = limits
    this.#finder = globFinder
    this.#globSets = createIntSets(limits.states, limits.stateNodes)
    this.#stands = new Stands(states, limits)
    this.#transitions = new Transitions(limits.transitions)
    this.#start = this.#stands.of(START)
  }

  /** The stand at the beginning of a path. Called before each path. */
  begin(): number {
    if (this.#states.misses() >= this.#limits.missesUntilClear) this.#clear()
    this.#stands.begin()
    if (this.#found.size > 0) this.#found.clear()
    return this.#start
  }

  /** Step by the code of a name in a pattern. `NONE` when this step is not known yet. */
  byCode(key: number, low: number, high: number): number {
    return this.#transitions.find(key, low, high)
  }

  /** Step by the result of `byCode` for a long name, if the names are equal. */
  byLongName(found: number, path: string, from: number, to: number): number {
    const { name, next } = this.#longNames[NONE - 1 - found]!
    return to - from === name.length && standsAt(path, name, from) ? next : NONE
  }

  /** Step by a name that may be in a pattern. `NONE` when the path must be walked. */
  byName(stand: number, path: string, from: number, to: number): number {
    const label = this.#literals.get(path.slice(from, to))
    if (label === undefined) return this.byOther(stand, path, from, to)
    const name = this.#names[label]!
    const labels = this.#states.labelsOf(name)
    // The first is its own.
    this.#found.set(from, labels.slice(1))
    const next = this.#stands.advance(stand, labels)
    if (next !== NONE) this.#keepName(stand, name, next)
    return next
  }

  /** Step by a name that is not plain and has no code. `NONE` when the path must be walked. */
  byOddName(stand: number, path: string, from: number, to: number): number {
    const label = this.#literals.get(path.slice(from, to))
    if (label === undefined) return this.byOther(stand, path, from, to)
    const key = (stand & -STAND) + LABEL
    const known = this.#transitions.find(key, label, 0)
    if (known !== NONE) return known
    const next = this.#stands.advance(stand, this.#states.labelsOf(this.#names[label]!))
    if (next !== NONE) this.#keep(key, label, 0, next)
    return next
  }

  /** Step by a name that is in no pattern. `NONE` when the path must be walked. */
  byOther(stand: number, path: string, from: number, to: number): number {
    if ((stand & HAS_GLOBS) === 0) return this.#stands.advanceUnlabelled(stand)
    const globs = this.#stands.globs(stand)
    if (globs === null) return this.#byManyGlobs(stand, path.slice(from, to), from)
    const bits = matchSimpleGlobs(globs, path, from, to)
    if (bits === 0) return this.#stands.advanceUnlabelled(stand)
    return this.#byGlobs(stand, bits, () =>
      globs.filter((_, index) => (bits & (1 << index)) !== 0).map(({ label }) => label),
    )
  }

  /** Matches a canonical path other than `/` without stands. */
  walk(path: string): MatchSet {
    const matches = this.#states.walk(path, this.#found)
    if (this.#isFull || this.#states.isFull()) this.#states.countMiss()
    return matches
  }

  #byManyGlobs(stand: number, name: string, from: number): number {
    const labels: number[] = []
    this.#finder.find(name, labels)
    this.#found.set(from, labels)
    const members = Int32Array.from(labels).toSorted()
    const set = this.#globSets.intern(members, members.length)
    this.#isFull ||= set === null
    return set === null ? NONE : this.#byGlobs(stand, set, () => labels)
  }

  /** `globs` stands for the same labels whenever it comes from the same state. */
  #byGlobs(stand: number, globs: number, labels: () => readonly number[]): number {
    const key = (stand & -STAND) + GLOBS
    const known = this.#transitions.find(key, globs, 0)
    if (known !== NONE) return known
    const next = this.#stands.advance(stand, labels())
    if (next !== NONE) this.#keep(key, globs, 0, next)
    return next
  }

  #keepName(stand: number, name: string, next: number): void {
    this.#code.read(name, 0)
    const key = keyOf(stand, name.length)
    const { low, high } = this.#code
    if (name.length <= MAX_EXACT) {
      this.#keep(key, low, high, next)
      return
    }
    if (this.#transitions.find(key, low, high) !== NONE) return
    if (this.#keep(key, low, high, NONE - 1 - this.#longNames.length))
      this.#longNames.push({ name, next })
  }

  #keep(key: number, low: number, high: number, next: number): boolean {
    const isKept = this.#transitions.add({ key, low, high, next })
    if (!isKept) {
      this.#isFull = true
      this.#states.countMiss()
    }
    return isKept
  }

  #clear(): void {
    this.#states.clear()
    this.#stands.clear()
    this.#globSets.clear()
    this.#transitions.clear()
    this.#longNames = []
    this.#start = this.#stands.of(START)
    this.#isFull = false
  }
}

/** The key for `byCode`. */
export function keyOf(stand: number, length: number): number {
  return (stand & -STAND) + (length > MAX_EXACT ? LONG : SHORT)
}
