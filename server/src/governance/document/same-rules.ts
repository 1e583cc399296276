import type { RuleRecord } from '../../store/records.ts'

/** Tells whether two lists have the same rules by id, with equal content and in the same order. */
export function hasSameRules(a: readonly RuleRecord[], b: readonly RuleRecord[]): boolean {
  return a.length === b.length && a.every((rule, index) => isSameRule(rule, b[index]))
}

export function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index])
}

function isSameRule(rule: RuleRecord, other: RuleRecord | undefined): boolean {
  return (
    other !== undefined &&
    rule.id === other.id &&
    rule.name === other.name &&
    rule.decision === other.decision &&
    rule.expires_at === other.expires_at &&
    isSameList(rule.actions, other.actions) &&
    isSameList(rule.resources, other.resources)
  )
}
