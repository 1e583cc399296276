import { parseInstant } from '@palisade/policy-core'
import type { DetailedPolicy, DetailedPolicySummary, DetailedRule } from '@palisade/protocol'
import type { TeamNames } from '../../lookup/find-team.ts'
import { formatPairs } from '../../terminal/pairs.ts'
import { createShortIds } from '../../terminal/short-ids.ts'
import { formatTime, type Style } from '../../terminal/style.ts'
import { formatTable } from '../../terminal/table.ts'

/** Formats policies as a table, or one line for an empty list. */
export function formatPolicyList(
  policies: readonly DetailedPolicySummary[],
  teams: TeamNames,
  style: Style,
): string {
  if (policies.length === 0) return 'no policies; write `palisade policy create NAME`\n'
  const hasModes = policies.some(({ mode }) => mode === 'shadow')
  return formatTable(
    ['NAME', 'APPLIES TO', ...(hasModes ? ['MODE'] : []), 'UPDATED', { wide: 'ID' }],
    policies.map((policy) => [
      policy.name,
      formatScope(policy, teams, style),
      ...(hasModes ? [policy.mode ?? 'enforce'] : []),
      formatTime(policy.updated_at, style),
      policy.id,
    ]),
    style,
  )
}

/** One policy with its rules, at a time in milliseconds since 1970. */
export function formatPolicy(
  policy: DetailedPolicy,
  { teams, nowMs }: { readonly teams: TeamNames; readonly nowMs: number },
  style: Style,
): string {
  const head = formatPairs(
    [
      ['policy', style.strong(policy.name)],
      ['id', style.plain(policy.id)],
      ['applies to', style.plain([formatScope(policy, teams, style)].flat().join(', '))],
      ...(policy.mode === 'shadow'
        ? [['mode', style.warning('shadow: not enforced')] as const]
        : []),
      ['domain', style.plain(policy.allowlist_v0?.domain ?? 'none yet')],
      ['updated', style.plain(policy.updated_at)],
    ],
    style,
  )
  const rules = policy.allowlist_v0?.rules ?? []
  return rules.length === 0 ? `${head}no rules\n` : `${head}\n${formatRules(rules, style, nowMs)}`
}

/** Rules as a table, one resource a line; with a column of expiry where one of them expires. */
export function formatRules(rules: readonly DetailedRule[], style: Style, nowMs: number): string {
  const hasExpiry = rules.some(({ expires_at }) => expires_at !== undefined)
  return formatTable(
    ['RULE', 'DECISION', 'ACTIONS', 'RESOURCES', ...(hasExpiry ? ['EXPIRES'] : []), { wide: 'ID' }],
    rules.map((rule) => [
      rule.name,
      rule.decision,
      rule.actions,
      rule.resources,
      ...(hasExpiry ? [formatExpiry(rule, nowMs, style)] : []),
      rule.id,
    ]),
    style,
  )
}

/** `expired 2026-11-01 00:00:00Z` */
function formatExpiry({ expires_at }: DetailedRule, nowMs: number, style: Style): string {
  if (expires_at === undefined) return 'never'
  const time = formatTime(expires_at, style)
  return isExpired({ expires_at }, nowMs) ? `expired ${time}` : time
}

function isExpired({ expires_at }: { readonly expires_at: string }, nowMs: number): boolean {
  const ms = parseInstant(expires_at)
  return ms !== null && ms <= nowMs
}

/** One team a line. A team without a known name is shown by its id. */
function formatScope(
  { scope }: Pick<DetailedPolicy, 'scope'>,
  teams: TeamNames,
  { isWide }: Style,
): string | readonly string[] {
  const ids = scope.teams ?? []
  if (ids.length === 0) return 'everybody'
  const shortId = createShortIds(ids, isWide)
  return ids.map((id) => {
    const name = teams.get(id)
    if (name === undefined) return `team ${shortId(id)}`
    return isWide ? `${name} (${id})` : name
  })
}
