import { enterClass, PORT_SENSITIVE, withGroup, type ActionSlot } from './flags.ts'
import { MAX_PAIRS, PairPlaces } from './pair-places.ts'
import type { Verdict } from './verdict.ts'

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

export interface ChainSetsBuilder {
  /** The number of a set that is its parent with one pattern's groups. */
  readonly add: (parent: number, groups: PortGroups) => number
  /** The number of a set that is its parent inside a protected class. */
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
          flags,
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
  readonly flags: readonly number[]
  readonly byPort: ReadonlyMap<number, ReadonlyMap<number, number>>
  /** Ports that some set has groups for. */
  readonly mentioned: ReadonlySet<number>
}

/**
 * Sets of groups that share what they have in common: each is its parent's and one pattern's
 * more, so that fifty thousand names below a domain with a thousand rules do not copy the thousand.
 *
 * A set is a number, and what is known of it stands in columns: an object for each set that was
 * asked for would be another load in every decision, and take more memory than all columns do.
 * Behind the numbers of the builder are those of sets at one port, given as requests come. The next
 * one may take the number of any other: what `at` gave holds until `at` is called again.
 */
export class ChainSets {
  readonly #columns: Columns
  readonly #flagsOf: (group: number) => number
  readonly #mentioned: ReadonlySet<number>
  readonly #flags: Uint8Array
  /** Made when a port first matters. */
  #atPort: PairPlaces | null = null
  #first: (Verdict | null)[] = []
  #second: (Verdict | null)[] = []

  constructor(columns: Columns, flagsOf: (group: number) => number) {
    const { flags, byPort, mentioned } = columns
    this.#columns = columns
    this.#flagsOf = flagsOf
    this.#mentioned = mentioned
    this.#flags = new Uint8Array(flags.length + (byPort.size > 0 ? MAX_PAIRS : 0))
    this.#flags.set(flags)
  }

  /** The set for a request to `port`: a number that holds until this is called again. */
  at(set: number, port: number): number {
    return (this.#flags[set]! & PORT_SENSITIVE) === 0 ? set : this.#numberAt(set, port)
  }

  /** The union of the flags of the groups in a set that `at` gave, see `flags.ts`. */
  flagsOf(set: number): number {
    return this.#flags[set]!
  }

  /** The groups in a set that `at` gave, those of its parents first; made anew each time. */
  groupsOf(set: number): number[] {
    const place = set - this.#columns.flags.length
    const pairs = place < 0 ? null : this.#atPort
    const [own, port] = pairs === null ? [set, 0] : [pairs.setOf(place), pairs.portOf(place)]
    return membersOf(this.#columns, own, port).filter(isGroup)
  }

  /** What was decided about the action in a set that `at` gave; a cache of `Verdicts` alone. */
  verdictOf(set: number, slot: ActionSlot): Verdict | null {
    return (slot === 0 ? this.#first : this.#second)[set] ?? null
  }

  keepVerdict(set: number, slot: ActionSlot, verdict: Verdict): void {
    const column = slot === 0 ? this.#first : this.#second
    // Without gaps, which would make it a hash table.
    while (column.length <= set) column.push(null)
    column[set] = verdict
  }

  forgetVerdicts(): void {
    this.#first = []
    this.#second = []
  }

  #numberAt(set: number, port: number): number {
    // Ports that no rule names are all alike.
    const asked = this.#mentioned.has(port) ? port : 0
    const pairs = (this.#atPort ??= new PairPlaces())
    const first = this.#columns.flags.length
    const known = pairs.find(set, asked)
    if (known >= 0) return first + known
    const number = first + pairs.take(set, asked)
    if (number < this.#first.length) this.#first[number] = null
    if (number < this.#second.length) this.#second[number] = null
    this.#flags[number] = membersOf(this.#columns, set, asked).reduce(
      (flags, member) =>
        member === CLASS ? enterClass(flags) : withGroup(flags, this.#flagsOf(member)),
      0,
    )
    return number
  }
}

/** The groups of a set, and `CLASS` where one begins: from the root, for it closes what came before. */
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

function isGroup(member: number): boolean {
  return member >= 0
}
