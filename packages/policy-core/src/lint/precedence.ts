import type { LintRule } from './lint-rule.ts'

/** A key that is equal for rules that are in force for the same users at the same times. */
export function forceOf({ identity, teams, isShadow, expiresMs }: LintRule): string {
  const mode = isShadow ? 'shadow' : 'enforce'
  return `${identity.origin} ${teams?.id ?? 'everybody'} ${mode} ${expiresMs}`
}

/**
 * Tells whether `cause` is in force wherever `rule` is: it applies to all teams of `rule`, and a
 * local rule never counts against one of the organization. It does not expire earlier, and it is no
 * rule of a shadow policy unless `rule` is one too. Only then can `cause` make `rule` pointless.
 */
export function isInForceWith(cause: LintRule, rule: LintRule): boolean {
  if (!cause.active || cause.expiresMs < rule.expiresMs) return false
  if (cause.isShadow && !rule.isShadow) return false
  if (rule.identity.origin === 'org' && cause.identity.origin === 'local') return false
  if (cause.teams === null) return true
  return rule.teams !== null && cause.teams.include(rule.teams)
}
