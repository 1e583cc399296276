import { enterClass, PORT_SENSITIVE, withGroup } from './flags.ts'
import { createMatchSet, type MatchSet } from './match-set.ts'

/** The set that nothing is in: the root of every chain. */
export const NOTHING = 0

/** In place of a group: here a protected class begins. */
const CLASS = -2
const NO_GROUP = -1

/** The resources of one pattern: those for every port, and those for one port each. */
export interface PortGroups {
  /** Null when no resource names the pattern without a port. */
  readonly everyPort: number | null
  readonly byPort: ReadonlyMap<number, number> | null
}

/**
 * Sets of groups that share what they have in common: each is its parent's and one pattern's
 * more, so that fifty thousand names below a domain with a thousand rules do not copy the thousand.
 * Immutable but for what it makes on demand and may forget again.
 */
export interface ChainSets {
  /** What is in the set for a request to `port`. */
  readonly at: (set: number, port: number) => MatchSet
}

export interface ChainSetsBuilder {
  /** The number of a set that is its parent with one pattern's groups. */
  readonly add: (parent: number, groups: PortGroups) => number
  /** The number of a set that is its parent inside a protected class. */
  readonly enterClass: (parent: number) => number
  readonly finish: () => ChainSets
}

/** How many groups all sets made on demand may hold; beyond it they are forgotten. */
const MAX_GROUPS_MADE = 1 << 18

export function createChainSets(flagsOf: (group: number) => number): ChainSetsBuilder {
  const parents = [NOTHING]
  const groups = [NO_GROUP]
  const flags = [0]
  const byPort = new Map<number, ReadonlyMap<number, number>>()
  const append = (parent: number, group: number, flag: number): number => {
    parents.push(parent)
    groups.push(group)
    flags.push(flag)
    return flags.length - 1
  }
  return {
    add(parent, pattern) {
      const own = pattern.everyPort === null ? 0 : flagsOf(pattern.everyPort)
      const flag = withGroup(flags[parent]!, own)
      const isSensitive = pattern.byPort !== null && pattern.byPort.size > 0
      const set = append(
        parent,
        pattern.everyPort ?? NO_GROUP,
        isSensitive ? flag | PORT_SENSITIVE : flag,
      )
      if (isSensitive) byPort.set(set, pattern.byPort)
      return set
    },
    enterClass: (parent) => append(parent, CLASS, enterClass(flags[parent]!)),
    finish() {
      const columns = {
        parents: Int32Array.from(parents),
        groups: Int32Array.from(groups),
        flags: Uint8Array.from(flags),
        byPort,
      }
      return createLookup(columns, flagsOf)
    },
  }
}

interface Columns {
  readonly parents: Int32Array
  readonly groups: Int32Array
  readonly flags: Uint8Array
  readonly byPort: ReadonlyMap<number, ReadonlyMap<number, number>>
}

function createLookup(columns: Columns, flagsOf: (group: number) => number): ChainSets {
  const { flags } = columns
  const mentioned = new Set([...columns.byPort.values()].flatMap((ports) => [...ports.keys()]))
  const made = Array.from<MatchSet | undefined>({ length: flags.length })
  const madeByPort = new Map<number, MatchSet>()
  let groupsMade = 0

  function remember(set: MatchSet): MatchSet {
    groupsMade += set.groups.length + 1
    if (groupsMade > MAX_GROUPS_MADE) {
      made.fill(undefined)
      madeByPort.clear()
      groupsMade = set.groups.length + 1
    }
    return set
  }

  function atPort(set: number, port: number): MatchSet {
    // Ports that no rule names are all alike.
    const key = set * 0x1_0000 + (mentioned.has(port) ? port : 0)
    const known = madeByPort.get(key)
    if (known !== undefined) return known
    const fresh = remember(makeSet(columns, flagsOf, set, port))
    madeByPort.set(key, fresh)
    return fresh
  }

  return {
    at(set, port) {
      const known = made[set]
      if (known !== undefined) return known
      if ((flags[set]! & PORT_SENSITIVE) !== 0) return atPort(set, port)
      return (made[set] = remember(makeSet(columns, flagsOf, set, port)))
    },
  }
}

/** Walks the chain from the root, because a class closes what was opened outside of it. */
function makeSet(
  { parents, groups, byPort }: Columns,
  flagsOf: (group: number) => number,
  set: number,
  port: number,
): MatchSet {
  const chain: number[] = []
  for (let link = set; link !== NOTHING; link = parents[link]!) chain.push(link)
  const members: number[] = []
  let flags = 0
  for (const link of chain.toReversed()) {
    const group = groups[link]!
    if (group === CLASS) flags = enterClass(flags)
    for (const member of [group, byPort.get(link)?.get(port) ?? NO_GROUP]) {
      if (member < 0) continue
      flags = withGroup(flags, flagsOf(member))
      members.push(member)
    }
  }
  return createMatchSet(members, flags)
}
