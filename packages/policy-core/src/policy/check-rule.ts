import { LIMITING, PARSING, type PatternReader } from '../pattern/pattern-reader.ts'
import { quote, show } from '../quote.ts'
import { refused, type Parsed } from '../result.ts'
import { parseInstant } from './instant.ts'
import { ACTIONS, domainOf, isAction, type Action, type Rule } from './policy.ts'

/** One fault of a rule. */
export interface RuleProblem {
  /** `actions`, `decision`, `resources`, `resources[2]` or `expires_at`. */
  readonly member: string
  /** Lower-case sentence without a full stop that names the correction. */
  readonly message: string
  /** Set for problems that programs may want to distinguish. */
  readonly reason?: 'domain_mismatch'
}

/**
 * Lists the faults of the rule's actions, decision, resources and expiry; empty when it compiles.
 * An expiry in the past is no fault. Members of a wrong type, which only JavaScript callers can
 * pass, are problems too. `patternLimits` is as in `CompileOptions`. The joint cost of patterns is
 * not checked for a single rule; see `pathCost`.
 */
export function checkRule(
  rule: Pick<Rule, 'actions' | 'decision' | 'resources' | 'expires_at'>,
  { patternLimits = true }: { readonly patternLimits?: boolean | undefined } = {},
): RuleProblem[] {
  return checkRuleWith(patternLimits ? LIMITING : PARSING, rule)
}

/**
 * Like `checkRule`, with a reader that may know the resources already. Every rule of a set passes
 * here while the code is still uncompiled, so a valid rule causes no allocation.
 */
export function checkRuleWith(
  reader: PatternReader,
  rule: Pick<Rule, 'actions' | 'decision' | 'resources' | 'expires_at'>,
): RuleProblem[] {
  if (!isOneAction(rule.actions)) {
    const wrong = checkActions(rule.actions)
    if (wrong.length > 0) return wrong
  }
  const first = rule.actions[0]
  const problems = checkDecision(rule.decision)
  if (first !== undefined) checkResources(rule.resources, reader[domainOf(first)], problems)
  if (rule.expires_at !== undefined) checkInstant('expires_at', rule.expires_at, problems)
  return problems
}

/** A fast path for nearly every rule, because `checkActions` allocates a function. */
function isOneAction(actions: unknown): boolean {
  return Array.isArray(actions) && actions.length === 1 && isAction(actions[0])
}

function checkActions(actions: unknown): RuleProblem[] {
  const problem = (message: string): RuleProblem[] => [{ member: 'actions', message }]
  if (!Array.isArray(actions)) return problem(`${show(actions)} is not an array`)
  if (actions.length === 0)
    return problem(`no action; write one of ${ACTIONS.map(quote).join(', ')}`)
  const known: Action[] = []
  for (const action of actions) {
    if (!isAction(action))
      return problem(
        `${show(action)} is not an action; write one of ${ACTIONS.map(quote).join(', ')}`,
      )
    known.push(action)
  }
  const [first] = known
  const other = known.find((action) => first !== undefined && domainOf(action) !== domainOf(first))
  if (first === undefined || other === undefined) return []
  const message =
    `${quote(first)} and ${quote(other)} belong to different domains; ` +
    `write two rules in two policies`
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

/** Refuses an unreadable time: ignoring it would let an allow outlive its author's intent. */
export function checkInstant(member: string, text: unknown, problems: RuleProblem[]): void {
  if (typeof text === 'string' && parseInstant(text) !== null) return
  const message = `${show(text)} is not a time in UTC; write one such as \`2026-11-26T14:00:00Z\``
  problems.push({ member, message })
}

function checkResources(
  resources: unknown,
  read: (text: string) => Parsed<unknown>,
  problems: RuleProblem[],
): void {
  if (!Array.isArray(resources)) {
    problems.push({ member: 'resources', message: `${show(resources)} is not an array` })
    return
  }
  if (resources.length === 0)
    problems.push({ member: 'resources', message: 'no resource; write at least one' })
  // By index, because a sparse array has holes.
  for (let index = 0; index < resources.length; index += 1) {
    const text: unknown = resources[index]
    const result: Parsed<unknown> =
      typeof text === 'string' ? read(text) : refused(`${show(text)} is not a string`)
    if (!result.ok) problems.push({ member: `resources[${index}]`, message: result.message })
  }
}
