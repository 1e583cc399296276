import type { Action } from '@palisade/policy-core'
import { quote } from '@palisade/policy-core/internal'
import type { Budget } from './budget.ts'
import { firstCover } from './find-cover.ts'
import { createFinding, type Finding } from './finding.ts'
import { eachEntry, forceOf, isInForceWith, refer, type Entry, type LintSet } from './lint-rule.ts'

/**
 * Finds denies of every IPv4 address, a habit from firewall lists. Such a deny also denies every
 * IPv4 address of an allowed name. A deny of every IPv6 address is a legitimate way to disable
 * IPv6.
 */
export function findClosedNames(set: LintSet, budget: Budget): Finding[] {
  const denies = eachEntry(set.rules, 'deny').filter(({ entry }) => isEveryIpv4(entry))
  if (denies.length === 0) return []
  const names = indexNames(set)
  const described = new Set<Entry>()
  return denies.flatMap(({ entry: deny, action }) => {
    if (described.has(deny)) return []
    const name = firstCover(names.get(action) ?? [], budget, ({ rule }) =>
      isInForceWith(deny.rule, rule) ? 'yes' : 'no',
    )
    if (name === null || name === 'unknown') return []
    described.add(deny)
    return [
      createFinding(
        'deny_every_address',
        [refer(deny), refer(name)],
        `${quote(deny.text)} denies every IPv4 address, also those of allowed names such as ` +
          quote(name.text),
        'remove it: requests that no rule allows are denied anyway',
      ),
    ]
  })
}

function isEveryIpv4({ pattern }: Entry): boolean {
  return pattern.kind === 'range' && pattern.range.family === 4 && pattern.range.prefix === 0
}

/** The first allowed name of each group of rules that are in force for the same users. */
function indexNames({ rules }: LintSet): Map<Action, readonly Entry[]> {
  const names = new Map<Action, Map<string, Entry>>()
  for (const { entry, action } of eachEntry(rules, 'allow')) {
    if (entry.pattern.kind !== 'name') continue
    const ofAction = names.get(action) ?? new Map<string, Entry>()
    names.set(action, ofAction)
    const force = forceOf(entry.rule)
    if (!ofAction.has(force)) ofAction.set(force, entry)
  }
  return new Map([...names].map(([action, entries]) => [action, [...entries.values()]]))
}
