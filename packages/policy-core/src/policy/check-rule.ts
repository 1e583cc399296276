import { PARSING, type PatternReader } from '../pattern/pattern-reader.ts'
import { quote, show } from '../quote.ts'
import { refused, type Parsed } from '../result.ts'
import { ACTIONS, domainOf, isAction, type Rule } from './policy.ts'

/** One thing wrong with a rule. */
export interface RuleProblem {
  /** `actions`, `decision`, `resources` or `resources[2]`. */
  readonly member: string
  /** Lower-case sentence without a full stop that says what to write instead. */
  readonly message: string
  /** Set where a program may want to tell this problem from others. */
  readonly reason?: 'domain_mismatch'
}

/**
 * What is wrong with the rule's actions, decision and resources; empty when it compiles. Members
 * of a wrong type, which only JavaScript can give, are problems like any other.
 */
export function checkRule(rule: Pick<Rule, 'actions' | 'decision' | 'resources'>): RuleProblem[] {
  return checkRuleWith(PARSING, rule)
}

/** The same with a reader that may know the resources already. */
export function checkRuleWith(
  reader: PatternReader,
  rule: Pick<Rule, 'actions' | 'decision' | 'resources'>,
): RuleProblem[] {
  const actions = checkActions(rule.actions)
  if (actions.length > 0) return actions
  const [first] = rule.actions
  return [
    ...checkDecision(rule.decision),
    ...(first === undefined ? [] : checkResources(rule.resources, reader[domainOf(first)])),
  ]
}

function checkActions(actions: unknown): RuleProblem[] {
  const problem = (message: string): RuleProblem[] => [{ member: 'actions', message }]
  if (!Array.isArray(actions)) return problem(`${show(actions)} is not an array`)
  if (actions.length === 0)
    return problem(`no action; write one of ${ACTIONS.map(quote).join(', ')}`)
  const known = actions.filter(isAction)
  if (known.length < actions.length) {
    const unknown: unknown = actions.find((action) => !isAction(action))
    return problem(
      `${show(unknown)} is not an action; write one of ${ACTIONS.map(quote).join(', ')}`,
    )
  }
  const [first] = known
  const other = known.find((action) => first !== undefined && domainOf(action) !== domainOf(first))
  if (first === undefined || other === undefined) return []
  const message = `${quote(first)} and ${quote(other)} belong to different domains; write two rules in two policies`
  return [{ member: 'actions', message, reason: 'domain_mismatch' }]
}

function checkDecision(decision: unknown): RuleProblem[] {
  if (decision === 'allow' || decision === 'deny') return []
  return [
    {
      member: 'decision',
      message: `${show(decision)} is not a decision; write \`allow\` or \`deny\``,
    },
  ]
}

function checkResources(
  resources: unknown,
  read: (text: string) => Parsed<unknown>,
): RuleProblem[] {
  if (!Array.isArray(resources))
    return [{ member: 'resources', message: `${show(resources)} is not an array` }]
  if (resources.length === 0)
    return [{ member: 'resources', message: 'no resource; write at least one' }]
  // Spread, because `flatMap` passes over the holes of a sparse array.
  return [...resources].flatMap((text: unknown, index) => {
    const result: Parsed<unknown> =
      typeof text === 'string' ? read(text) : refused(`${show(text)} is not a string`)
    return result.ok ? [] : [{ member: `resources[${index}]`, message: result.message }]
  })
}
