import {
  CONDITIONAL,
  enterClass,
  isConditional,
  PORT_SENSITIVE,
  withGroup,
  type FlagList,
} from './flags.ts'
import { createMatchSet, NOT_CONCLUDED, type MatchSet, type SlotVerdicts } from './match-set.ts'
import { PortSets } from './port-sets.ts'

/** The empty set: the root of every chain. */
export const NOTHING = 0

/** Marks the beginning of a protected class, in place of a group. */
const CLASS = -2
const NO_GROUP = -1

/** The groups of one pattern: one for every port, and one for each port. */
export interface PortGroups {
  /** Null when no resource names the pattern without a port. */
  readonly everyPort: number | null
  readonly byPort: ReadonlyMap<number, number> | null
}

/** Sets of groups by their number. */
export interface NumberedSets {
  /** The set for a request to `port`. */
  at(set: number, port: number): MatchSet
  /** The ports at which the set may differ from the set at all other ports. */
  portsOf(set: number): ReadonlySet<number>
}

export interface ChainSetsBuilder {
  /** Adds the set that extends its parent by one pattern's groups, and returns its number. */
  readonly add: (parent: number, groups: PortGroups) => number
  /** Adds the set that is its parent inside a protected class, and returns its number. */
  readonly enterClass: (parent: number) => number
  readonly finish: () => ChainSets
}

export function createChainSets(flagsOf: (group: number) => number): ChainSetsBuilder {
  const parents = [NOTHING]
  const groups = [NO_GROUP]
  const flags = [0]
  const byPort = new Map<number, ReadonlyMap<number, number>>()
  const mentioned = new Set<number>()
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
      if (!isSensitive) return set
      byPort.set(set, pattern.byPort)
      for (const port of pattern.byPort.keys()) mentioned.add(port)
      return set
    },
    enterClass: (parent) => append(parent, CLASS, enterClass(flags[parent]!)),
    finish: () =>
      new ChainSets(
        {
          parents: Int32Array.from(parents),
          groups: Int32Array.from(groups),
          flags: Uint16Array.from(flags),
          byPort,
          mentioned,
        },
        flagsOf,
      ),
  }
}

interface Columns {
  readonly parents: Int32Array
  readonly groups: Int32Array
  readonly flags: FlagList
  readonly byPort: ReadonlyMap<number, ReadonlyMap<number, number>>
  /** Ports for which some set has groups. */
  readonly mentioned: ReadonlySet<number>
}

/** A set of a chain, at one port if the port matters. */
class ChainSet implements MatchSet {
  readonly set: number
  readonly port: number
  readonly flags: number
  verdicts: SlotVerdicts = NOT_CONCLUDED
  readonly #columns: Columns

  constructor(columns: Columns, set: number, port: number, flags: number) {
    this.#columns = columns
    this.set = set
    this.port = port
    this.flags = flags
  }

  /**
   * Groups of the parents come first. The list is built at each access, because chains share their
   * common part.
   */
  get groups(): readonly number[] {
    return membersOf(this.#columns, this.set, this.port).filter(isGroup)
  }
}

/**
 * Sets of groups that share their common part: each set extends its parent by one pattern's groups.
 * Fifty thousand names below a domain with a thousand rules therefore do not copy those rules. A
 * set is a number in columns until its first use.
 */
export class ChainSets implements NumberedSets {
  readonly #columns: Columns
  readonly #flagsOf: (group: number) => number
  readonly #asked: (ChainSet | undefined)[]
  /** Created when a port first matters. */
  #atPort: PortSets<ChainSet> | null = null

  constructor(columns: Columns, flagsOf: (group: number) => number) {
    this.#columns = columns
    this.#flagsOf = flagsOf
    this.#asked = Array.from({ length: columns.flags.length })
  }

  at(set: number, port: number): MatchSet {
    const flags = this.#columns.flags[set]!
    if ((flags & PORT_SENSITIVE) !== 0) return this.#atOnePort(set, port)
    return (this.#asked[set] ??= new ChainSet(this.#columns, set, 0, flags))
  }

  /** Like `at`, with the flags that groups have when only some rules count. */
  atWith(set: number, port: number, flagsOf: (group: number) => number): MatchSet {
    const found = this.at(set, port)
    if (!isConditional(found.flags)) return found
    const members = membersOf(this.#columns, set, port)
    return createMatchSet(members.filter(isGroup), flagsAlong(members, flagsOf) | CONDITIONAL)
  }

  portsOf(set: number): ReadonlySet<number> {
    const { parents, byPort } = this.#columns
    const ports = new Set<number>()
    for (let link = set; link !== NOTHING; link = parents[link]!)
      for (const port of byPort.get(link)?.keys() ?? []) ports.add(port)
    return ports
  }

  #atOnePort(set: number, port: number): MatchSet {
    // Ports that no rule names are all alike.
    const asked = this.#columns.mentioned.has(port) ? port : 0
    const kept = (this.#atPort ??= new PortSets())
    return kept.find(set, asked) ?? kept.keep(this.#make(set, asked))
  }

  #make(set: number, port: number): ChainSet {
    const flags = flagsAlong(membersOf(this.#columns, set, port), this.#flagsOf)
    return new ChainSet(this.#columns, set, port, flags)
  }
}

/**
 * The groups of a set from the root, with `CLASS` where a protected class begins. The order
 * matters, because a class cancels the allows before it.
 */
function membersOf(
  { parents, groups, byPort }: Columns,
  set: number,
  port: number,
): readonly number[] {
  const chain: number[] = []
  for (let link = set; link !== NOTHING; link = parents[link]!) chain.push(link)
  return chain
    .toReversed()
    .flatMap((link) => [groups[link]!, byPort.get(link)?.get(port) ?? NO_GROUP])
    .filter((member) => member !== NO_GROUP)
}

/** The joined flags of the members of a set. */
function flagsAlong(members: readonly number[], flagsOf: (group: number) => number): number {
  return members.reduce(
    (all, member) => (member === CLASS ? enterClass(all) : withGroup(all, flagsOf(member))),
    0,
  )
}

function isGroup(member: number): boolean {
  return member >= 0
}
