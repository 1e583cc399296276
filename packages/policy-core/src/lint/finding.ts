import type { Origin } from '../decision/decision.ts'
import { LINT_SEVERITIES, type LintCode, type Severity } from './codes.ts'

/** A rule that a finding speaks of, as in decisions; ids and names are empty above it. */
export interface FindingRule {
  readonly origin: Origin
  readonly policy_id: string
  readonly policy_name: string
  readonly rule_id: string
  readonly rule_name: string
  /** The pattern as it was written; absent when the whole rule is meant. */
  readonly resource?: string
}

/** Something about policies that compile, but hardly say what their author means. */
export interface Finding {
  readonly code: LintCode
  readonly severity: Severity
  /** The rule at fault, then those that cause it. Never empty. */
  readonly rules: readonly FindingRule[]
  /** Lower-case sentence without a full stop; what was written stands in back-ticks. */
  readonly message: string
  /** What to write instead, in the same form. */
  readonly mend: string
}

export function createFinding(
  code: LintCode,
  rules: readonly FindingRule[],
  message: string,
  mend: string,
): Finding {
  return { code, severity: LINT_SEVERITIES[code], rules, message, mend }
}

/** By rule, resource and code, so that the order of the input does not show; each once. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  return findings
    .map((finding) => ({ finding, key: sortKey(finding) }))
    .toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .filter(({ key }, index, all) => key !== all[index - 1]?.key)
    .map(({ finding }) => finding)
}

function sortKey({ code, rules, message }: Finding): string {
  const parts = rules.map(({ origin, policy_id, rule_id, policy_name, rule_name, resource }) => [
    origin === 'org' ? 0 : 1,
    policy_id,
    rule_id,
    policy_name,
    rule_name,
    resource ?? '',
  ])
  // NUL sorts before everything, so that a shorter id comes before a longer one.
  const [fault = [], ...causes] = parts
  return [...fault, code, message, ...causes.flat()].join('\0')
}
