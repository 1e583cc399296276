import { createIntSets } from './int-sets.ts'
import type { LabelledGlob } from './pattern-labels.ts'
import type { MatchSets } from './match-sets.ts'
import type { MatchSet } from '../match-set.ts'
import type { PathLimits } from './path-limits.ts'
import type { PathWalk } from './path-walk.ts'
import { PatternStep } from './pattern-step.ts'
import { IS_LOOP, LEADS_ON, type PatternTrie } from './pattern-trie.ts'
import { NONE, ROOT } from './token-trie.ts'

/** The state before the first name. State 0 is dead: no pattern can match from there. */
export const START = 1

/**
 * Sets of active nodes as numbered states. A state is created when a path first needs it, and is
 * kept as long as there is room.
 */
export interface PatternStates {
  /**
   * The state after a name with these labels. Null when the state cannot be numbered: there is no
   * room, or too many patterns are active to copy them.
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
  /**
   * Matches a canonical path other than `/` without states. `found` holds known globs that match
   * its names, by start of the name.
   */
  walk(path: string, found: ReadonlyMap<number, readonly number[]>): MatchSet
  isFull(): boolean
  /** Counts an answer that is slow because a store is full. */
  countMiss(): void
  misses(): number
  clear(): void
}

export interface PatternStatesDeps {
  readonly trie: PatternTrie
  readonly walk: PathWalk
  readonly matchSets: MatchSets
}

export function createPatternStates(
  { trie, walk, matchSets }: PatternStatesDeps,
  limits: PathLimits,
): PatternStates {
  const { literals } = trie.labels
  const step = new PatternStep(trie)
  const sets = createIntSets(limits.states, limits.stateNodes)
  let matches: (MatchSet | undefined)[] = []
  let isFull = false
  let misses = 0

  const begin = (): void => {
    sets.intern(new Int32Array(0), 0)
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
      const nodes = Int32Array.from(step.after(sets.members(state), labels))
      if (nodes.length > limits.nodesOfState) return null
      const next = sets.intern(nodes.toSorted(), nodes.length)
      isFull ||= next === null
      return next
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
      const found = matchSets.ofNodes(sets.members(state))
      if (matchSets.wasKept()) matches[state] = found
      else misses += 1
      return found
    },
    walk(path, found) {
      let from = 1
      const names = path
        .slice(1)
        .split('/')
        .map((name) => {
          const globs = found.get(from) ?? findGlobs(trie, name)
          from += name.length + 1
          return { literal: literals.get(name) ?? NONE, globs: globs.toSorted((a, b) => a - b) }
        })
      return matchSets.of(walk.find(names))
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

function findGlobs({ globFinder }: PatternTrie, name: string): number[] {
  const globs: number[] = []
  globFinder.find(name, globs)
  return globs
}
