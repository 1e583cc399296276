import type { Origin } from '@palisade/policy-core'
import { LINT_SEVERITIES, type LintCode, type Severity } from './codes.ts'

/** A rule that a finding refers to, as in decisions. Rule fields are empty for a whole policy. */
export interface FindingRule {
  readonly origin: Origin
  readonly policy_id: string
  readonly policy_name: string
  readonly rule_id: string
  readonly rule_name: string
  /** The pattern as written; absent when the finding concerns the whole rule. */
  readonly resource?: string
}

/** A likely mistake in policies that compile. */
export interface Finding {
  readonly code: LintCode
  readonly severity: Severity
  /** The rule at fault, then the rules that cause the finding. Never empty. */
  readonly rules: readonly FindingRule[]
  /** Lower-case sentence without a full stop; user input is in back-ticks. */
  readonly message: string
  /** The suggested correction, in the same form. */
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

/** Sorts by rule, resource and code, independent of the input order, and removes duplicates. */
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
