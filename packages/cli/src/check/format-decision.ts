import type { RuleMatch } from '@palisade/policy-core'
import type { Style } from '../terminal/style.ts'
import type { DecisionAnswer } from './answer.ts'

/** A decision for people: one line, then the deciding rules, hint and cautions below it. */
export function formatDecision(answer: DecisionAnswer, style: Style): string {
  return [
    formatVerdict(answer, style),
    ...(answer.reason === 'invalid_request' ? ['  `palisade explain` says what is wrong'] : []),
    ...answer.rules.map((rule) => `  ${formatRule(rule, style)}`),
    ...formatCautions(answer, style),
  ]
    .map((line) => `${line}\n`)
    .join('')
}

/** "deny  connect:tcp example.com:443  (default_deny)" */
export function formatVerdict(answer: DecisionAnswer, style: Style): string {
  const verdict = answer.decision === 'allow' ? style.good('allow') : style.bad('deny')
  return `${verdict}  ${style.plain(formatRequest(answer.request))}  ${style.quiet(`(${answer.reason})`)}`
}

/** "allow rule `api` of policy `web`: *.example.com:443" */
export function formatRule(rule: RuleMatch, style: Style): string {
  const local = rule.origin === 'local' ? 'local ' : ''
  return (
    `${rule.decision} by rule ${style.strong(`\`${rule.rule_name}\``)} ` +
    `of ${local}policy ${style.strong(`\`${rule.policy_name}\``)}: ${style.plain(rule.resource)}`
  )
}

/** Hint, staleness, and what the answer does not cover. */
export function formatCautions(answer: DecisionAnswer, style: Style): readonly string[] {
  const lines: string[] = []
  if (answer.hint !== null) lines.push(`  to change this: ${style.plain(answer.hint)}`)
  if (answer.address_required === true)
    lines.push(
      '  judged by name only: the address it resolves to is decided as well (`--address IP`)',
    )
  if (answer.break_glass === true)
    lines.push(`  ${style.warning('a break-glass grant is in force: `palisade status`')}`)
  if (answer.stale)
    lines.push(
      `  ${style.warning('the policies are stale: the agent has no news from its server')}`,
    )
  return lines
}

function formatRequest(request: DecisionAnswer['request']): string {
  if (request === null) return 'invalid request'
  if (request.path !== undefined) return `${request.action} ${request.path}`
  const host = request.host ?? ''
  const shown = host.includes(':') ? `[${host}]` : host
  const address =
    request.address === undefined || request.address === host ? '' : ` at ${request.address}`
  return `${request.action} ${shown}:${request.port}${address}`
}
