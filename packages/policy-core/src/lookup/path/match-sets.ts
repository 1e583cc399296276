import { createMatchSet, type MatchSet } from '../match-set.ts'
import { createIntSets } from './int-sets.ts'
import type { PatternTrie } from './pattern-trie.ts'

/** Creates one object per set of groups. */
export interface MatchSets {
  readonly empty: MatchSet
  /** The groups of the patterns that end at the nodes. */
  ofNodes(nodes: Int32Array): MatchSet
  /** The groups, in any order. */
  of(groups: readonly number[]): MatchSet
  /**
   * Whether the last result of `of` or `ofNodes` was kept. If not, callers must not keep it either.
   */
  wasKept(): boolean
  clear(): void
}

export function createMatchSets(
  { groups, groupStart }: PatternTrie,
  flagsOf: (group: number) => number,
  limits: { readonly matchSets: number; readonly matchGroups: number },
): MatchSets {
  const known = createIntSets(limits.matchSets, limits.matchGroups)
  const empty = createMatchSet([], 0)
  let sets: MatchSet[] = []
  let wasKept = true

  const groupsOf = (nodes: Int32Array): Int32Array => {
    let count = 0
    for (const node of nodes) count += groupStart[node + 1]! - groupStart[node]!
    const found = new Int32Array(count)
    count = 0
    for (const node of nodes) {
      const own = groups.subarray(groupStart[node], groupStart[node + 1])
      found.set(own, count)
      count += own.length
    }
    return found
  }

  const of = (unsorted: Int32Array): MatchSet => {
    wasKept = true
    if (unsorted.length === 0) return empty
    const found = unsorted.toSorted()
    const number = known.intern(found, found.length)
    wasKept = number !== null
    const set = number === null ? undefined : sets[number]
    if (set !== undefined) return set
    const flags = found.reduce((all, group) => all | flagsOf(group), 0)
    const created = createMatchSet([...found], flags)
    if (number !== null) sets[number] = created
    return created
  }

  return {
    empty,
    ofNodes: (nodes) => of(groupsOf(nodes)),
    of: (unsorted) => of(Int32Array.from(unsorted)),
    wasKept: () => wasKept,
    clear() {
      known.clear()
      sets = []
    },
  }
}
