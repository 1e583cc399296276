import type { Style } from '../terminal/style.ts'
import type { ExplanationAnswer } from './answer.ts'
import {
  formatCautions,
  formatOmitted,
  formatRule,
  formatVerdict,
  type DecisionLook,
} from './format-decision.ts'

/** Formats an explanation: verdict, then the sections that are not empty. */
export function formatExplanation(answer: ExplanationAnswer, look: DecisionLook): string {
  const { style } = look
  const { rules_omitted = 0, matched_omitted = 0 } = answer
  const deciding = answer.rules.map((rule) => `  ${formatRule(rule, style)}`)
  const others = answer.matched
    .filter((rule) => !rule.deciding)
    .map((rule) => {
      return `  ${formatRule(rule, style)}${formatInactive(rule, style)}`
    })
  const misses = answer.near_misses
    // An inactive rule matched, so `others` has it.
    .filter(({ miss }) => !['inactive', 'expired', 'shadow'].includes(miss))
    .flatMap((miss) => [`  ${formatRule(miss, style)}`, `    ${style.plain(miss.message)}`])
  return [
    formatVerdict(answer, style),
    ...(answer.detail === null ? [] : [`  ${style.plain(answer.detail)}`]),
    ...formatCautions(answer, look),
    ...section('decided by', [...deciding, ...formatOmitted(rules_omitted)], style),
    ...section(
      'also matched',
      [...others, ...formatOmitted(matched_omitted - rules_omitted)],
      style,
    ),
    ...section('nearly matched', misses, style),
    ...(answer.revision === null ? [] : [style.quiet(`revision ${answer.revision}`)]),
  ]
    .map((line) => `${line}\n`)
    .join('')
}

function formatInactive(
  { active, expired, shadow }: ExplanationAnswer['matched'][number],
  style: Style,
): string {
  if (active) return ''
  if (expired) return style.warning(' (expired)')
  return style.warning(shadow ? ' (shadow policy)' : ' (inactive: the organization governs)')
}

function section(title: string, lines: readonly string[], style: Style): readonly string[] {
  return lines.length === 0 ? [] : [style.strong(title), ...lines]
}
