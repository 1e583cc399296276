import type { RuleTable } from './rule-table.ts'

/**
 * The resources of each distinct pattern. A request matches all resources of a group or none of
 * them, so indices store groups only, and many rules about one host are one entry.
 */
export interface Groups {
  /** Joined flags of the rules in the group; see `flags.ts`. */
  readonly flagsOf: (group: number) => number
  /** The resources of the group, in order. */
  readonly resourcesOf: (group: number) => Uint32Array
}

/** `groupOf[resource]` numbers groups from 0 to `count - 1`; less than 0 means no group. */
export function buildGroups(table: RuleTable, groupOf: Int32Array, count: number): Groups {
  const firsts = new Uint32Array(count + 1)
  for (let resource = 0; resource < groupOf.length; resource += 1) {
    const group = groupOf[resource]!
    if (group >= 0) firsts[group + 1]! += 1
  }
  for (let group = 0; group < count; group += 1) firsts[group + 1]! += firsts[group]!
  const members = new Uint32Array(firsts[count]!)
  const flags = new Uint16Array(count)
  const next = firsts.slice()
  for (let resource = 0; resource < groupOf.length; resource += 1) {
    const group = groupOf[resource]!
    if (group < 0) continue
    members[next[group]!] = resource
    next[group]! += 1
    flags[group]! |= table.flagsOf(table.ruleOf(resource))
  }
  return {
    flagsOf: (group) => flags[group]!,
    resourcesOf: (group) => members.subarray(firsts[group], firsts[group + 1]),
  }
}
