import type { Finding, FindingRule, Severity } from '@palisade/policy-analysis'
import type { Style } from '../terminal/style.ts'
import { formatTable } from '../terminal/table.ts'

/** Limit for a reader: a generated file may have a finding in every rule. */
const MAX_FINDINGS = 200
/** Shown rules that cause one finding; `--json` has all. */
const MAX_CAUSES = 3

/** A finding, with the position of each of its rules if known: file, line and column. */
export interface LocatedFinding extends Finding {
  readonly places?: readonly string[]
}

/**
 * Whether a finding is shown without `--all`: errors, warnings, undecided ones, allows that open a
 * protected address, which a reviewer must see, and directories that no workspace can be.
 */
export function isShownByDefault({ code, severity }: Finding): boolean {
  return severity !== 'info' || SHOWN.has(code)
}

const SHOWN: ReadonlySet<Finding['code']> = new Set([
  'undecided',
  'opens_protected',
  'directory_alone',
])

/** Formats a table for each policy, the most severe first; empty without findings. */
export function formatFindings(findings: readonly LocatedFinding[], style: Style): string {
  const sorted = findings.toSorted((a, b) => RANK[a.severity] - RANK[b.severity])
  const shown = sorted.slice(0, MAX_FINDINGS)
  const more = sorted.length - shown.length
  const groups = new Map<string, LocatedFinding[]>()
  for (const finding of shown) {
    const group = groups.get(policyOf(finding))
    if (group === undefined) groups.set(policyOf(finding), [finding])
    else group.push(finding)
  }
  const tables = [...groups].map(
    ([policy, group]) => `${style.strong(policy)}\n${formatGroup(group, style)}\n`,
  )
  const rest = more > 0 ? `${style.plain(`and ${more} more findings; \`--json\` has all`)}\n` : ''
  return tables.join('') + rest
}

/** Summarizes a run, such as `1 error, 2 warnings`. */
export function formatSummary(findings: readonly Finding[], shown: readonly Finding[]): string {
  const count = (severity: Severity): number =>
    findings.filter((finding) => finding.severity === severity).length
  const numbers = [plural(count('error'), 'error'), plural(count('warning'), 'warning')]
  const bad = numbers.filter((text) => text !== '').join(', ')
  const hidden = findings.length - shown.length
  if (bad === '') return shown.length === 0 ? 'all good' : 'no errors or warnings'
  return hidden === 0 ? bad : `${bad}; \`--all\` shows ${hidden} more`
}

const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, info: 2 }

function formatGroup(findings: readonly LocatedFinding[], style: Style): string {
  const rows = findings.map((finding) => [
    `  ${finding.severity}`,
    isAboutPolicy(finding.rules[0]) ? '' : formatRule(finding, 0),
    finding.code,
    [finding.message, finding.mend, ...causesOf(finding)],
  ])
  return formatTable(['  severity', 'rule', 'code', 'finding, and what to do'], rows, style)
}

/** The other rules, which the message names only by their patterns. */
function causesOf(finding: LocatedFinding): string[] {
  const [fault, ...causes] = finding.rules
  const names = causes.flatMap((cause, index) => {
    if (isAboutPolicy(cause) || isSameRule(cause, fault)) return []
    const policy = cause.policy_id === fault?.policy_id ? '' : ` of policy \`${cause.policy_name}\``
    return [`see ${formatRule(finding, index + 1)}${policy}`]
  })
  const distinct = [...new Set(names)]
  const more = distinct.length - MAX_CAUSES
  return more > 0 ? [...distinct.slice(0, MAX_CAUSES), `and ${more} more rules`] : distinct
}

/** Name and position of a rule of a finding. */
function formatRule({ rules, places }: LocatedFinding, index: number): string {
  const rule = rules[index]
  return `${rule?.rule_name ?? ''} (${places?.[index] ?? rule?.rule_id ?? ''})`
}

function isAboutPolicy(rule: FindingRule | undefined): boolean {
  return rule === undefined || rule.rule_id === ''
}

function isSameRule(a: FindingRule, b: FindingRule | undefined): boolean {
  return a.origin === b?.origin && a.policy_id === b.policy_id && a.rule_id === b.rule_id
}

function policyOf({ rules: [fault], places }: LocatedFinding): string {
  const word = fault?.origin === 'local' ? 'local policy' : 'policy'
  const name = `${word} \`${fault?.policy_name ?? ''}\``
  return places === undefined ? `${name} (${fault?.policy_id ?? ''})` : name
}

function plural(count: number, word: string): string {
  return count === 0 ? '' : `${count} ${word}${count === 1 ? '' : 's'}`
}
