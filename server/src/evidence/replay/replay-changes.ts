import type { Decision } from '@palisade/policy-core'
import type { Sighting, TupleRows } from '../observed/read-observed.ts'
import { createChangeGroups, type ChangeGroup } from './change-groups.ts'
import { createReplayTally, type ReplayCount } from './replay-tally.ts'

/** Records of one target whose decision the same rules change. */
export interface ReplayGroup extends ChangeGroup, ReplayCount {}

/** Which groups of changes a result has. */
export interface ShownGroups {
  /** The most frequent ones of each list. */
  readonly most: number
  readonly leastDevices: number
}

/** Changes of one kind. */
export interface ReplayChanges {
  readonly decisions: number
  /** All groups, those that are not shown too. */
  readonly groups: number
  /** The most frequent first. */
  readonly shown: readonly ReplayGroup[]
}

/** The row at a position: its tuple and its sighting. */
export type RowAt = (position: number) => { readonly tuple: number; readonly sighting: Sighting }

/** Positions of the rows of a group, among positions that are sorted by group. */
interface GroupRange {
  readonly group: number
  readonly positions: Int32Array
  readonly decisions: number
}

const NO_GROUP = -1

/**
 * Groups the rows of one kind of change. Each row has the number of its group, and only shown
 * groups are counted: a tally of each would take most of the memory of a replay.
 */
export function createReplayChanges(length: number, at: RowAt) {
  const groups = createChangeGroups()
  const numbers = new Int32Array(length).fill(NO_GROUP)
  const numberAt = (position: number | undefined): number => numbers[position ?? length] ?? NO_GROUP

  function* ranges(): Generator<GroupRange> {
    const changed = numbers.reduce((count, number) => count + (number === NO_GROUP ? 0 : 1), 0)
    const unsorted = new Int32Array(changed)
    let end = 0
    for (let position = 0; position < length; position += 1)
      if (numberAt(position) !== NO_GROUP) unsorted[end++] = position
    const positions = unsorted.toSorted((a, b) => numberAt(a) - numberAt(b) || a - b)
    for (let from = 0, to = 0; from < changed; from = to) {
      const group = numberAt(positions[from])
      let decisions = 0
      for (; to < changed && numberAt(positions[to]) === group; to += 1)
        decisions += at(positions[to] ?? 0).sighting.decisions
      yield { group, positions: positions.subarray(from, to), decisions }
    }
  }

  const hasDevices = ({ positions }: GroupRange, least: number): boolean =>
    least <= 1 ||
    new Set(Array.from(positions, (position) => at(position).sighting.device_id)).size >= least

  function countGroup({ group, positions }: GroupRange): ReplayGroup {
    const tally = createReplayTally()
    for (const position of positions) {
      const { tuple, sighting } = at(position)
      tally.add(tuple, sighting)
    }
    return { ...groups.get(group), ...tally.count() }
  }

  return {
    add({ from, to }: Pick<TupleRows, 'from' | 'to'>, before: Decision, after: Decision): void {
      numbers.fill(groups.numberOf(before, after), from, to)
    },

    result({ most, leastDevices }: ShownGroups): ReplayChanges {
      let decisions = 0
      const found: GroupRange[] = []
      for (const range of ranges()) {
        decisions += range.decisions
        if (hasDevices(range, leastDevices)) found.push(range)
      }
      const targetOf = ({ group }: GroupRange): string => groups.get(group).target
      const shown = found
        .toSorted(
          (one, other) =>
            other.decisions - one.decisions || (targetOf(one) < targetOf(other) ? -1 : 1),
        )
        .slice(0, most)
        .map(countGroup)
      return { decisions, groups: groups.size(), shown }
    },
  }
}
