import { PolicyError, type PolicyProblem } from '../errors.ts'
import { createPathLoad, pathCost, type PathLoad } from '../lookup/path/path-load.ts'
import { addPattern } from '../lookup/path/pattern-load.ts'
import type { RuleEntry } from '../lookup/rule-table.ts'
import { domainOf, type Rule } from '../policy/policy.ts'
import { quote } from '../quote.ts'
import { runSteps, type Steps } from '../steps.ts'

/** Maximum steps of one decision on a path, as counted by `pathCost`. bench: decide/worst */
export const MAX_PATH_COST = 1_250_000

/** Resources may be as long as a path. */
const CHARACTERS_A_STEP = 8_192

/**
 * Computes the cost that the path patterns of rules add to a decision. Network rules cost 0.
 * O(bytes of the resources), without building an index. The rules must pass `checkRule`.
 */
export function pathLoad(rules: readonly Pick<Rule, 'actions' | 'resources'>[]): PathLoad {
  return runSteps(pathLoadInSteps(rules))
}

/** Like `pathLoad`, but yields like `compileInSteps`. */
export function* pathLoadInSteps(
  rules: readonly Pick<Rule, 'actions' | 'resources'>[],
): Steps<PathLoad> {
  const load = createPathLoad()
  let characters = 0
  for (const { actions, resources } of rules) {
    if (!isOfPaths(actions)) continue
    for (const text of resources) {
      addPattern(load, text)
      characters += text.length
      if (characters < CHARACTERS_A_STEP) continue
      characters = 0
      yield
    }
  }
  return load
}

/** The message for a pattern of a set that costs too much. */
export function describePathCost(text: string, cost: number): string {
  return (
    `${quote(text)} and the other path patterns can make one decision take ${cost} steps, ` +
    `and ${MAX_PATH_COST} is the limit; ` +
    `write fewer \`*\` and \`**\`, above all between two \`**\` and within one name`
  )
}

/** Throws `ERR_POLICY_INVALID` if the cost is too high, naming the most expensive pattern. */
export function* refusePathCost(entries: readonly RuleEntry[]): Steps<void> {
  const load = yield* pathLoadInSteps(entries)
  const cost = pathCost(load)
  if (cost <= MAX_PATH_COST) return
  const { dearest } = load
  const entry = entries.find(
    ({ actions, resources }) => isOfPaths(actions) && resources.some((text) => text === dearest),
  )
  if (entry === undefined || dearest === null) return
  const problem: PolicyProblem = {
    origin: entry.policy.origin,
    policy_id: entry.policy.id,
    policy_name: entry.policy.name,
    rule_id: entry.id,
    rule_name: entry.name,
    member: `resources[${entry.resources.indexOf(dearest)}]`,
    message: describePathCost(dearest, cost),
  }
  const where = `policy ${quote(problem.policy_name)} rule ${quote(problem.rule_name)}`
  const summary = `${where} ${problem.member}: ${problem.message}`
  throw new PolicyError('ERR_POLICY_INVALID', summary, [problem])
}

function isOfPaths(actions: Rule['actions']): boolean {
  const action = actions[0]
  return action !== undefined && domainOf(action) === 'filesystem'
}
