import { foldCase, foldSegment, quote } from '@palisade/policy-core/internal'
import { keyOfSegments } from '../pattern/format-pattern.ts'
import { createFinding, type Finding, type FindingRule } from './finding.ts'
import { isInForceWith, refer, type Entry, type LintRule, type LintSet } from './lint-rule.ts'

/** Finds duplicate ids: of policies in one list, and of rules in one policy. */
export function findRepeatedIds(set: LintSet): Finding[] {
  const { policies, rules } = ownersOf(set)
  return [...repeated(policies, 'policy'), ...repeated(rules, 'rule')]
}

/** Finds policies, and rules in one policy, whose names are equal apart from letter case. */
export function findSimilarNames(set: LintSet): Finding[] {
  const { policies, rules } = ownersOf(set)
  return [...similarNames(policies), ...similarNames(rules)]
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

/** Policies or rules, with the scope in which their ids and names must be unique. */
interface Owners {
  readonly all: readonly FindingRule[]
  /** The scope: equal for owners whose ids and names must differ. */
  readonly within: (owner: FindingRule) => string
  readonly idOf: (owner: FindingRule) => string
  readonly nameOf: (owner: FindingRule) => string
}

/** The policies and rules of a set. */
function ownersOf(set: LintSet): { readonly policies: Owners; readonly rules: Owners } {
  const policies = set.policies.map(({ policy, origin }) => ({
    origin,
    policy_id: policy.id,
    policy_name: policy.name,
    rule_id: '',
    rule_name: '',
  }))
  return {
    policies: {
      all: policies,
      within: ({ origin }) => origin,
      idOf: ({ policy_id }) => policy_id,
      nameOf: ({ policy_name }) => policy_name,
    },
    rules: {
      all: set.rules.map(({ identity }) => identity),
      // The name is included because two policies with one id have a finding of their own.
      within: ({ origin, policy_id, policy_name }) => [origin, policy_id, policy_name].join('\0'),
      idOf: ({ rule_id }) => rule_id,
      nameOf: ({ rule_name }) => rule_name,
    },
  }
}

/** One finding per id, which lists every owner of the id. */
function repeated({ all, within, idOf, nameOf }: Owners, word: 'policy' | 'rule'): Finding[] {
  return groupBy(all, (owner) => `${within(owner)}\0${idOf(owner)}`).flatMap((group) => {
    const [first] = group
    if (first === undefined || group.length === 1) return []
    const count = `${group.length} ${word === 'rule' ? 'rules of the policy' : 'policies'}`
    return [
      createFinding(
        'repeated_id',
        sortBy(group, nameOf),
        `${count} have the id ${quote(idOf(first))}`,
        `give each ${word} a unique id`,
      ),
    ]
  })
}

function sortBy(
  owners: readonly FindingRule[],
  keyOf: (owner: FindingRule) => string,
): FindingRule[] {
  return owners.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0))
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

/** Groups items with equal keys, in the order of their first items. */
function groupBy<T>(items: Iterable<T>, keyOf: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return [...groups.values()]
}
