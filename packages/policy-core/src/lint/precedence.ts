import type { LintRule } from './lint-rule.ts'

/**
 * Tells whether `cause` is in force wherever `rule` is: it applies to all teams of `rule`, and a
 * local rule never counts against one of the organization. Only then can `cause` make `rule`
 * pointless.
 */
export function isInForceWith(cause: LintRule, rule: LintRule): boolean {
  if (!cause.active) return false
  if (rule.identity.origin === 'org' && cause.identity.origin === 'local') return false
  if (cause.teams === null) return true
  return rule.teams !== null && cause.teams.include(rule.teams)
}
