import type { LintRule } from './lint-rule.ts'

/**
 * Tells whether `cause` is in force wherever `rule` is: for all of its teams, and not by the will
 * of one user where the organization has spoken. Only then can the one make the other pointless.
 */
export function isInForceWith(cause: LintRule, rule: LintRule): boolean {
  if (!cause.active) return false
  if (rule.identity.origin === 'org' && cause.identity.origin === 'local') return false
  if (cause.teams === null) return true
  return rule.teams !== null && cause.teams.include(rule.teams)
}
