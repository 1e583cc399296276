import { checkRule, domainOf, type Action, type Domain, type PathLoad } from '@palisade/policy-core'
import type { Work } from '../work/work-budget.ts'
import type { RuleRecord } from '../store/records.ts'
import { createKnownRules, knownRule, type KnownRules, type RuleProblems } from './known-rules.ts'
import { readRuleLoad } from './compilation/path-loads.ts'

/**
 * Resources checked in one turn. IDNA is quadratic in the length of a label, so one resource can
 * take milliseconds; a part with a problem is checked twice.
 */
const RESOURCES_AT_ONCE = 2

/** Resources of a rule, checked before the transaction that writes them. */
export interface CheckedResources {
  readonly resources: readonly string[]
  readonly domain: Domain
  readonly problems: RuleProblems
  /** Null for resources that do not compile. */
  readonly pathLoad: PathLoad | null
}

/** Checks resources in turns. Returns null when there are no actions or no resources. */
export async function checkResources(
  {
    actions,
    resources,
  }: {
    readonly actions: readonly Action[]
    readonly resources: readonly string[]
  },
  work: Pick<Work, 'turn'>,
): Promise<CheckedResources | null> {
  const [action] = actions
  if (action === undefined || resources.length === 0) return null
  const rule: RuleRecord = { id: '', name: '', actions: [action], decision: 'allow', resources }
  const problems = await findProblemsInTurns(rule, work)
  const pathLoad = problems.compiles ? await readRuleLoad(createKnownRules(), rule) : null
  await work.turn()
  return { resources, domain: domainOf(action), problems, pathLoad }
}

/** Finds the problems of a single rule in turns, with the result of `checkRule`. */
export async function findProblemsInTurns(
  rule: RuleRecord,
  work: Pick<Work, 'turn'>,
): Promise<RuleProblems> {
  const { resources } = rule
  const [all, beyondLimits]: [RuleProblems['all'][number][], boolean[]] = [[], []]
  // An empty list of resources is a problem, so a rule without resources is checked once too.
  for (let start = 0; start === 0 || start < resources.length; start += RESOURCES_AT_ONCE) {
    const part = { ...rule, resources: resources.slice(start, start + RESOURCES_AT_ONCE) }
    const problems = checkRule(part)
    for (const problem of problems) all.push({ ...problem, member: shift(problem.member, start) })
    if (problems.length > 0)
      beyondLimits.push(checkRule(part, { patternLimits: false }).length === 0)
    await work.turn()
  }
  return { all, compiles: beyondLimits.every(Boolean) }
}

/** Stores the findings for `rule`, provided it has exactly these resources and their domain. */
export function keepFindings(
  known: KnownRules,
  rule: RuleRecord,
  checked: CheckedResources | null,
): void {
  const [action] = rule.actions
  if (checked === null || action === undefined) return
  if (rule.resources !== checked.resources || domainOf(action) !== checked.domain) return
  const found = knownRule(known, rule)
  found.problems = checked.problems
  found.pathLoad = checked.pathLoad
}

/** Turns a position in a part of the resources into one in the whole list. */
function shift(member: string, start: number): string {
  return member.replace(/\d+/, (index) => String(Number(index) + start))
}
