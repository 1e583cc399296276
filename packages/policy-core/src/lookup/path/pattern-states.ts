import { createIntSets } from './int-sets.ts'
import type { LabelledGlob } from './pattern-labels.ts'
import type { MatchSets } from './match-sets.ts'
import type { MatchSet } from '../match-set.ts'
import type { PathLimits } from './path-limits.ts'
import { IS_LOOP, LEADS_ON, NONE, ROOT, type PatternTrie } from './pattern-trie.ts'
import { PatternWalk } from './pattern-walk.ts'

/** The state before the first name. In state 0 nothing can match any more. */
export const START = 1

/**
 * What has matched so far, as numbers: a state is a set of active nodes. States are made when a
 * path first needs them, and kept as long as there is room.
 */
export interface PatternStates {
  /**
   * The state after a name with these labels. Null when it has no number and gets none: there is
   * no room, or too many patterns are active for copies of them to be kept.
   */
  advance(state: number, labels: readonly number[]): number | null
  /** The labels of a name: its own, if it is in a pattern, and those of globs that match it. */
  labelsOf(name: string): number[]
  /** The globs that lead on from the state, each once; null when they are more than `max`. */
  globsBelow(state: number, max: number): readonly LabelledGlob[] | null
  /** Whether the names that follow make no difference. */
  isSettled(state: number): boolean
  nodes(state: number): Int32Array
  matches(state: number): MatchSet
  /** Goes through the rest of a path without making states. `from` is where a name begins. */
  walk(state: number, path: string, from: number): MatchSet
  isFull(): boolean
  /** Notes an answer that was slow because a store is full. */
  countMiss(): void
  misses(): number
  clear(): void
}

export function createPatternStates(
  trie: PatternTrie,
  matchSets: MatchSets,
  limits: PathLimits,
): PatternStates {
  const { literals } = trie.labels
  const walk = new PatternWalk(trie)
  const sets = createIntSets(limits.states, limits.stateNodes)
  const scratch = new Int32Array(trie.size)
  let matches: (MatchSet | undefined)[] = []
  let isFull = false
  let misses = 0

  const intern = (): number | null => {
    const count = walk.collect(scratch)
    if (count > limits.nodesOfState) return null
    const state = sets.intern(scratch.subarray(0, count).toSorted(), count)
    if (state === null) isFull = true
    return state
  }
  const begin = (): void => {
    sets.intern(scratch, 0)
    const loop = trie.loop[ROOT]!
    const initial = loop === NONE ? [ROOT] : [ROOT, loop]
    sets.intern(Int32Array.from(initial), initial.length)
  }
  const labelsOf = (name: string): number[] => {
    const literal = literals.get(name)
    const labels = literal === undefined ? [] : [literal]
    trie.globFinder.find(name, labels)
    return labels
  }
  begin()

  return {
    advance(state, labels) {
      walk.start(sets.members(state))
      walk.step(labels, false)
      return intern()
    },
    labelsOf,
    globsBelow(state, max) {
      const below = new Set<LabelledGlob>()
      for (const node of sets.members(state)) {
        const own = trie.globsBelow.get(node) ?? []
        if (own.length > max) return null
        for (const glob of own) below.add(glob)
        if (below.size > max) return null
      }
      return [...below]
    },
    isSettled: (state) =>
      sets.members(state).every((node) => (trie.traits[node]! & (IS_LOOP | LEADS_ON)) === IS_LOOP),
    nodes: (state) => sets.members(state),
    matches(state) {
      const known = matches[state]
      if (known !== undefined) return known
      const found = matchSets.of(sets.members(state))
      if (matchSets.wasKept()) matches[state] = found
      else misses += 1
      return found
    },
    walk(state, path, from) {
      walk.start(sets.members(state))
      for (let start = from; start <= path.length;) {
        const slash = path.indexOf('/', start)
        const end = slash < 0 ? path.length : slash
        walk.step(labelsOf(path.slice(start, end)), end === path.length)
        if (walk.isDead()) return matchSets.empty
        start = end + 1
      }
      return matchSets.of(scratch.subarray(0, walk.collect(scratch)))
    },
    isFull: () => isFull,
    countMiss() {
      misses += 1
    },
    misses: () => misses,
    clear() {
      sets.clear()
      matchSets.clear()
      matches = []
      isFull = false
      misses = 0
      begin()
    },
  }
}
