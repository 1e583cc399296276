import { foldSegment } from '../path/glob.ts'
import { foldCase } from '../path/path.ts'
import { keyOfSegments } from '../pattern/format-pattern.ts'
import { quote } from '../quote.ts'
import { createFinding, type Finding } from './finding.ts'
import { groupBy } from './group-by.ts'
import { refer, type Entry, type LintRule, type LintSet } from './lint-rule.ts'
import { ownersOf, type Owners } from './owners.ts'
import { isInForceWith } from './precedence.ts'

/** Finds policies, and rules in one policy, whose names are equal apart from letter case. */
export function findSimilarNames(set: LintSet): Finding[] {
  const { policies, rules } = ownersOf(set)
  return [...similarNames(policies), ...similarNames(rules)]
}

function similarNames({ all, within, idOf, nameOf }: Owners): Finding[] {
  const key = (owner: (typeof all)[number]): string =>
    `${within(owner)}\0${foldCase(nameOf(owner))}`
  return groupBy(all, key).flatMap((group) => {
    const byId = new Map(group.map((owner) => [`${idOf(owner)}\0${nameOf(owner)}`, owner]))
    // A duplicate id has the finding `repeated_id` already.
    if (new Set(group.map(idOf)).size < 2) return []
    const rules = [...byId].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, owner]) => owner)
    const names = [...new Set(rules.map(nameOf))]
    const list = names.map(quote).join(' and ')
    const message =
      names.length === 1 ? `${rules.length} have the name ${list}` : `${list} differ by letter case`
    return [createFinding('similar_name', rules, message, 'give each a name of its own')]
  })
}

/**
 * Finds path patterns of different rules that differ by letter case only, on a case-sensitive file
 * system. Two spellings inside one rule are intentional.
 */
export function findSimilarResources({ rules, caseSensitive }: LintSet): Finding[] {
  if (!caseSensitive) return []
  const entries = rules.filter(({ active }) => active).flatMap((rule) => rule.entries)
  return groupBy(entries, foldedKey).flatMap(describeSimilar)
}

function foldedKey({ pattern, key }: Entry): string {
  if (pattern.kind !== 'path') return key
  return `${pattern.fromHome ? '~' : ''}${keyOfSegments(pattern.segments.map(foldSegment))}`
}

/** One finding for each spelling except the first. */
function describeSimilar(group: readonly Entry[]): Finding[] {
  const [first, ...others] = groupBy(group, ({ key }) => key).flatMap((same) => same.slice(0, 1))
  if (first === undefined || others.length === 0) return []
  const onPurpose = new Set(
    groupBy(group, ({ rule }) => `${rule.entries[0]?.rank}`)
      .filter((ofRule) => new Set(ofRule.map(({ key }) => key)).size > 1)
      .flatMap((ofRule) => ofRule.map(({ key }) => key)),
  )
  return others
    .filter(({ key, rule }) => !onPurpose.has(key) && mayMeet(first.rule, rule))
    .map((entry) =>
      createFinding(
        'similar_resource',
        [refer(entry), refer(first)],
        `${quote(entry.text)} differs from ${quote(first.text)} by letter case, ` +
          `which is significant in paths`,
        'write both the same, or both in one rule when both are meant',
      ),
    )
}

function mayMeet(a: LintRule, b: LintRule): boolean {
  return isInForceWith(a, b) || isInForceWith(b, a)
}
