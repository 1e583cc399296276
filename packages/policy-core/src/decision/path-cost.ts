import { PolicyError, type PolicyProblem } from '../errors.ts'
import { collectPathGroups } from '../lookup/pattern-groups.ts'
import { createGroupCounter } from '../lookup/port-groups.ts'
import { buildPathIndex } from '../lookup/path/path-index.ts'
import type { RuleEntry } from '../lookup/rule-table.ts'
import { parsePathPattern, placePattern } from '../pattern/path-pattern.ts'
import { domainOf, type Rule } from '../policy/policy.ts'
import { quote } from '../quote.ts'
import { runSteps } from '../steps.ts'

/**
 * What one decision on a path may cost at most, in the steps of `walk-cost.ts`. bench: worst
 */
export const MAX_PATH_COST = 800_000

/** Stands for any home directory: no name of a pattern holds `/`. */
const SOME_HOME: readonly string[] = ['~/']

/**
 * How much the path patterns of these rules can make one decision cost at most, whatever its path,
 * whether letter case counts or not: a number to compare with `MAX_PATH_COST`. Rules together cost at
 * most the sum of what they cost apart, so the costs of policies can be added up.
 *
 * Takes rules in which `checkRule` finds nothing wrong, and counts no others. O(resources).
 */
export function pathCost(rules: readonly Pick<Rule, 'actions' | 'resources'>[]): number {
  const paths = collectPathGroups(createGroupCounter())
  for (const { actions, resources } of rules) {
    if (!isOfPaths(actions)) continue
    for (const text of resources) {
      const pattern = parsePathPattern(text)
      const meaning = { home: SOME_HOME, caseSensitive: true }
      const segments = pattern.ok ? placePattern(pattern.value, meaning) : null
      if (segments !== null) paths.groupOf(text, segments)
    }
  }
  return runSteps(buildPathIndex(paths.patterns(), () => 0)).mostSteps()
}

/** Throws `ERR_POLICY_INVALID`, naming the pattern with most stars, where the cost is too high. */
export function refusePathCost(cost: number, entries: readonly RuleEntry[]): void {
  if (cost <= MAX_PATH_COST) return
  const worst = findWorst(entries)
  if (worst === null) return
  const { entry, index } = worst
  const problem: PolicyProblem = {
    origin: entry.policy.origin,
    policy_id: entry.policy.id,
    policy_name: entry.policy.name,
    rule_id: entry.id,
    rule_name: entry.name,
    member: `resources[${index}]`,
    message: describePathCost(cost, entry.resources[index]!),
  }
  const where = `policy ${quote(problem.policy_name)} rule ${quote(problem.rule_name)}`
  const summary = `${where} ${problem.member}: ${problem.message}`
  throw new PolicyError('ERR_POLICY_INVALID', summary, [problem])
}

function describePathCost(cost: number, text: string): string {
  return `${quote(text)} and the other path patterns can make one decision take ${cost} steps, and ${MAX_PATH_COST} is the limit; write fewer \`*\` and \`**\`, above all between two \`**\``
}

function findWorst(
  entries: readonly RuleEntry[],
): { readonly entry: RuleEntry; readonly index: number } | null {
  let worst: { readonly entry: RuleEntry; readonly index: number } | null = null
  let most = -1
  for (const entry of entries) {
    if (!isOfPaths(entry.actions)) continue
    for (const [index, text] of entry.resources.entries()) {
      const stars = countStars(text)
      if (stars <= most) continue
      most = stars
      worst = { entry, index }
    }
  }
  return worst
}

function isOfPaths(actions: Rule['actions']): boolean {
  const action = actions[0]
  return action !== undefined && domainOf(action) === 'filesystem'
}

function countStars(text: string): number {
  return text.split('*').length - 1
}
