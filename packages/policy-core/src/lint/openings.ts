import { rangeCovers, type IpRange } from '../address/ip-range.ts'
import { protectedClasses, type ProtectedClass } from '../address/protected-address.ts'
import type { Action } from '../policy/policy.ts'
import { eachEntry } from './each-entry.ts'
import type { LintSet } from './lint-rule.ts'

/** The protected classes, and which of them some allow lies in, and so means to open. */
export interface Openings {
  readonly classes: readonly ProtectedClass[]
  /** Whether that is so on the port; on any at all for null. */
  readonly isOpened: (action: Action, range: IpRange, port: number | null) => boolean
}

export function readOpenings({ rules, machine }: LintSet): Openings {
  const fixed = protectedClasses([])
  const opened = new Set<string>()
  for (const { entry, action } of eachEntry(rules, 'allow')) {
    if (entry.pattern.kind !== 'range') continue
    const { range, port } = entry.pattern
    // The machine's own addresses are single ones, which only they themselves lie in.
    const ranges = [range, ...fixed.map((each) => each.range)]
    for (const each of ranges.filter((outer) => rangeCovers(outer, range)))
      for (const on of ['some', port ?? 'every']) opened.add(keyOf(action, each, on))
  }
  return {
    classes: protectedClasses(machine),
    isOpened: (action, range, port) =>
      opened.has(keyOf(action, range, port ?? 'some')) || opened.has(keyOf(action, range, 'every')),
  }
}

function keyOf(action: Action, { family, base, prefix }: IpRange, on: number | string): string {
  return `${action} ${family} ${base}/${prefix} ${on}`
}
