import { rangeCovers, type IpRange } from '../address/ip-range.ts'
import { protectedClasses, type ProtectedClass } from '../address/protected-address.ts'
import type { Action } from '../policy/policy.ts'
import { eachEntry } from './each-entry.ts'
import type { LintSet } from './lint-rule.ts'

/** The protected classes, and those that an allow opens because it lies inside them. */
export interface Openings {
  readonly classes: readonly ProtectedClass[]
  /** The classes of the machine's own addresses. */
  readonly machine: readonly ProtectedClass[]
  /** Whether an allow inside `range` exists on the port; null means on at least one port. */
  readonly isOpened: (action: Action, range: IpRange, port: number | null) => boolean
}

export function readOpenings({ rules, machine }: LintSet): Openings {
  const fixed = protectedClasses([])
  const opened = new Set<string>()
  for (const { entry, action } of eachEntry(rules, 'allow')) {
    if (entry.pattern.kind !== 'range') continue
    const { range, port } = entry.pattern
    // A class of the machine's own addresses is a single address, which only `range` itself equals.
    const ranges = [range, ...fixed.map((each) => each.range)]
    for (const each of ranges.filter((outer) => rangeCovers(outer, range)))
      for (const on of ['some', port ?? 'every']) opened.add(keyOf(action, each, on))
  }
  return {
    classes: protectedClasses(machine),
    machine,
    isOpened: (action, range, port) =>
      opened.has(keyOf(action, range, port ?? 'some')) || opened.has(keyOf(action, range, 'every')),
  }
}

function keyOf(action: Action, { family, base, prefix }: IpRange, on: number | string): string {
  return `${action} ${family} ${base}/${prefix} ${on}`
}
