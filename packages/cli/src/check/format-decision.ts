import type { RuleMatch } from '@palisade/policy-core'
import { count } from '../terminal/count.ts'
import type { Style } from '../terminal/style.ts'
import { dependsOnAddress, type DecisionAnswer, type ResolvedAddress } from './answer.ts'

export interface DecisionLook {
  readonly style: Style
  /** Whether only the organization can allow more. */
  readonly governed: boolean
}

/**
 * Formats a decision: one line, then the deciding rules, hint and cautions. `fault` is the fault of
 * an invalid request, or null.
 */
export function formatDecision(
  answer: DecisionAnswer,
  look: DecisionLook,
  fault: string | null = null,
): string {
  const { style } = look
  return [
    formatVerdict(answer, style),
    ...(fault === null ? [] : [`  ${style.plain(fault)}`]),
    ...answer.rules.map((rule) => `  ${formatRule(rule, style)}`),
    ...formatOmitted(answer.rules_omitted),
    ...formatCautions(answer, look),
  ]
    .map((line) => `${line}\n`)
    .join('')
}

/** "deny  connect:tcp example.com:443  (default_deny)", or "not evaluated  invalid request  …" */
export function formatVerdict(answer: DecisionAnswer, style: Style): string {
  const reason = style.quiet(`(${answer.reason})`)
  const target = answer.request === null ? 'invalid request' : formatTarget(answer.request)
  return `${formatOutcome(answer, style)}  ${style.plain(target)}  ${reason}`
}

function formatOutcome(answer: DecisionAnswer, style: Style): string {
  if (answer.reason === 'invalid_request') return style.warning('not evaluated')
  if (dependsOnAddress(answer)) return style.warning('depends on the address')
  return answer.decision === 'allow' ? style.good('allow') : style.bad('deny')
}

/** "allow rule `api` of policy `web`: *.example.com:443" */
export function formatRule(rule: RuleMatch, style: Style): string {
  if (rule.origin === 'grant')
    return `allow by access grant ${style.strong(rule.rule_id)}: ${style.plain(rule.resource)}`
  const local = rule.origin === 'local' ? 'local ' : ''
  return (
    `${rule.decision} by rule ${style.strong(`\`${rule.rule_name}\``)} ` +
    `of ${local}policy ${style.strong(`\`${rule.policy_name}\``)}: ${style.plain(rule.resource)}`
  )
}

/** Counts the rules that the agent did not list. */
export function formatOmitted(omitted = 0): readonly string[] {
  return omitted === 0 ? [] : [`  and ${count(omitted, 'more rule', 'more rules')}`]
}

/** Addresses, hint, staleness, and the limits of the answer. */
export function formatCautions(
  answer: DecisionAnswer,
  { style, governed }: DecisionLook,
): readonly string[] {
  const lines = [...formatAddresses(answer, style)]
  if (answer.reason === 'observed')
    lines.push(`  ${style.warning('no rule allows it; the organization only observes')}`)
  if (answer.shadow !== undefined) lines.push(...formatShadow(answer.shadow, style))
  if (answer.hint !== null && !dependsOnAddress(answer))
    lines.push(`  ${style.plain(formatHint(answer.hint, governed))}`)
  if (answer.support_message !== undefined) lines.push(`  ${style.plain(answer.support_message)}`)
  if (answer.break_glass === true)
    lines.push(`  ${style.warning('a break-glass grant is in force: `palisade status`')}`)
  if (answer.stale)
    lines.push(
      `  ${style.warning('the policies are stale: the agent has no news from its server')}`,
    )
  return lines
}

/** The effect that shadow policies would have. */
function formatShadow(
  { decision, reason, rules }: NonNullable<DecisionAnswer['shadow']>,
  style: Style,
): readonly string[] {
  const verdict = style.warning(`with the shadow policies: ${decision} (${reason})`)
  return [`  ${verdict}`, ...rules.map((rule) => `    ${formatRule(rule, style)}`)]
}

/** Only a hint that is an allow rule can be followed. */
function formatHint(hint: string, governed: boolean): string {
  if (!hint.startsWith('allow ')) return hint
  return `to change this: ${hint}${governed ? ' (an editor of the organization adds it)' : ''}`
}

function formatAddresses(answer: DecisionAnswer, style: Style): readonly string[] {
  const { address_required, addresses, request } = answer
  if (address_required !== true)
    return (addresses ?? [])
      .filter(({ address }) => address !== request?.address)
      .map((other) => `  ${style.plain(formatOther(other))}`)
  const unknown = addresses === undefined ? '' : 'the name does not resolve now; '
  const still = dependsOnAddress(answer)
    ? 'no rule matches the name; the address it resolves to decides (`--address IP`)'
    : 'decided by name only: the address it resolves to is decided as well (`--address IP`)'
  return [`  ${unknown}${still}`]
}

function formatOther({ address, decision, reason }: ResolvedAddress): string {
  return `also resolves to ${address}: ${decision} (${reason})`
}

/** "connect:tcp example.com:443 at 192.0.2.7", "read /data/x"; not escaped. */
export function formatTarget(request: NonNullable<DecisionAnswer['request']>): string {
  if (request.path !== undefined) return `${request.action} ${request.path}`
  const host = request.host ?? ''
  const shown = host.includes(':') ? `[${host}]` : host
  const address =
    request.address === undefined || request.address === host ? '' : ` at ${request.address}`
  return `${request.action} ${shown}:${request.port}${address}`
}
