import { rangeCovers, type IpRange } from '../address/ip-range.ts'
import { protectedClasses, type ProtectedClass } from '../address/protected-address.ts'
import type { Action } from '../policy/policy.ts'
import { eachEntry } from './each-entry.ts'
import type { LintSet } from './lint-rule.ts'

/** The protected classes, and which of them some allow lies in, and so means to open. */
export interface Openings {
  readonly classes: readonly ProtectedClass[]
  readonly isOpened: (action: Action, range: IpRange) => boolean
}

export function readOpenings({ rules, machine }: LintSet): Openings {
  const fixed = protectedClasses([])
  const opened = new Set<string>()
  for (const { entry, action } of eachEntry(rules, 'allow')) {
    if (entry.pattern.kind !== 'range') continue
    const { range } = entry.pattern
    // The machine's own addresses are single ones, which only they themselves lie in.
    opened.add(`${action} ${rangeKey(range)}`)
    for (const each of fixed)
      if (rangeCovers(each.range, range)) opened.add(`${action} ${rangeKey(each.range)}`)
  }
  return {
    classes: protectedClasses(machine),
    isOpened: (action, range) => opened.has(`${action} ${rangeKey(range)}`),
  }
}

function rangeKey({ family, base, prefix }: IpRange): string {
  return `${family} ${base}/${prefix}`
}
