import {
  compilePolicy,
  domainOf,
  parseInstant,
  type Action,
  type CompileOptions,
  type Origin,
  type Policy,
  type PolicySet,
  type Rule,
  type RuleDecision,
} from '@palisade/policy-core'
import {
  isShadow,
  parseNetworkPattern,
  parsePathPattern,
  resolvePattern,
  readNow,
  segmentsOf,
  type PathMeaning,
  type ProtectedClass,
} from '@palisade/policy-core/internal'
import type { FindingRule } from './finding.ts'
import { keyOf, type LintPattern } from './lint-pattern.ts'
import { createTeamsReader, type Teams } from './teams.ts'

/** Options for checking policies. */
export interface LintOptions extends CompileOptions {
  /** The time as in `DecideOptions`. Required when a rule expires. */
  readonly now?: number | undefined
  /**
   * Maximum number of steps for questions about paths; comparisons of two resources have a quarter.
   * A million steps take up to a second of processor time. Default 2,000,000.
   */
  readonly maxSteps?: number | undefined
}

/** One resource of a rule. */
export interface Entry {
  readonly rule: LintRule
  readonly text: string
  readonly pattern: LintPattern
  /** Equal for resources with the same pattern. */
  readonly key: string
  /** Position among all resources, independent of the input order of rules and policies. */
  readonly rank: number
}

export interface LintRule {
  readonly identity: FindingRule
  readonly decision: Rule['decision']
  readonly actions: readonly Action[]
  /** Null means every user. */
  readonly teams: Teams | null
  /** False for a local allow on a governed machine, and for an expired rule. */
  readonly active: boolean
  /** Milliseconds since 1970; `Infinity` for a rule that never expires. */
  readonly expiresMs: number
  /** The expiry as written, if the rule has expired. */
  readonly expiredAt: string | null
  /** Whether the policy of the rule is a shadow policy. */
  readonly isShadow: boolean
  readonly entries: readonly Entry[]
}

export interface LintSet {
  readonly rules: readonly LintRule[]
  /** All policies in force, those of the organization first. */
  readonly policies: readonly { readonly policy: Policy; readonly origin: Origin }[]
  readonly machine: readonly ProtectedClass[]
  readonly caseSensitive: boolean
}

/** A resource with one action of its rule. */
export interface EntryOfAction {
  readonly entry: Entry
  readonly action: Action
}

/** Reads every resource once. Throws `PolicyError` as `compilePolicy` does. */
export function readLintSet(
  set: PolicySet,
  { now, ...options }: Omit<LintOptions, 'maxSteps'>,
): LintSet {
  const compiled = compilePolicy(set, options)
  const { conditions, machine } = compiled
  const nowMs = conditions === null ? 0 : readNow(conditions, now)
  const governed = set.governed ?? set.policies !== undefined
  const caseSensitive = options.caseSensitive ?? true
  const home = set.home === undefined ? null : segmentsOf(set.home)
  const policies = [
    ...(governed ? (set.policies ?? []) : []).map((policy) => ({ policy, origin: 'org' as const })),
    ...(set.local ?? []).map((policy) => ({ policy, origin: 'local' as const })),
  ]
  const teamsOf = createTeamsReader()
  const found = policies.flatMap(({ policy, origin }) => {
    const teams = origin === 'org' ? teamsOf(policy) : null
    return (policy.allowlist_v0?.rules ?? []).map((rule) => ({ policy, origin, teams, rule }))
  })
  let rank = 0
  const rules = sortByIdentity(found).map((each) => {
    const rule = readRule(each, { governed, nowMs }, { home, caseSensitive }, rank)
    rank += rule.entries.length
    return rule
  })
  return { rules, policies, machine, caseSensitive }
}

/** Refers to a resource in a finding. */
export function refer(entry: Entry): FindingRule {
  return { ...entry.rule.identity, resource: entry.text }
}

/** Every resource of active rules with this decision, once per action, in rank order. */
export function eachEntry(rules: readonly LintRule[], decision: RuleDecision): EntryOfAction[] {
  return rules
    .filter((rule) => rule.active && rule.decision === decision)
    .flatMap((rule) =>
      rule.entries.flatMap((entry) => rule.actions.map((action) => ({ entry, action }))),
    )
}

/** A key that is equal for rules that are in force for the same users at the same times. */
export function forceOf(rule: LintRule): string {
  const { identity, teams, expiresMs } = rule
  const mode = rule.isShadow ? 'shadow' : 'enforce'
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

function readRule(
  { policy, origin, teams, rule }: Found,
  { governed, nowMs }: { readonly governed: boolean; readonly nowMs: number },
  meaning: PathMeaning,
  firstRank: number,
): LintRule {
  const entries: Entry[] = []
  const expiresMs = rule.expires_at === undefined ? Infinity : parseInstant(rule.expires_at)!
  const isExpired = expiresMs <= nowMs
  const read: LintRule = {
    identity: {
      origin,
      policy_id: policy.id,
      policy_name: policy.name,
      rule_id: rule.id,
      rule_name: rule.name,
    },
    decision: rule.decision,
    actions: [...new Set(rule.actions)],
    teams,
    active: !isExpired && (origin === 'org' || !governed || rule.decision === 'deny'),
    expiresMs,
    expiredAt: isExpired ? (rule.expires_at ?? null) : null,
    isShadow: isShadow(policy),
    entries,
  }
  for (const text of rule.resources) {
    const pattern = readPattern(text, rule, meaning)
    const rank = firstRank + entries.length
    if (pattern !== null) entries.push({ rule: read, text, pattern, key: keyOf(pattern), rank })
  }
  return read
}

interface Found {
  readonly policy: Policy
  readonly origin: Origin
  readonly teams: Teams | null
  readonly rule: Rule
}

function sortByIdentity(found: readonly Found[]): Found[] {
  return found
    .map((each) => ({ each, key: identityKey(each) }))
    .toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ each }) => each)
}

function identityKey({ policy, origin, rule }: Found): string {
  const { id, name, decision, actions, resources } = rule
  const head = [origin === 'org' ? 0 : 1, policy.id, id, policy.name, name, decision]
  return [...head, ...actions, ...resources].join('\0')
}

/** Parses a resource; null only for one that does not compile. */
function readPattern(text: string, rule: Rule, meaning: PathMeaning): LintPattern | null {
  if (domainOf(rule.actions[0] ?? 'read') === 'network') {
    const pattern = parseNetworkPattern(text)
    return pattern.ok ? pattern.value : null
  }
  const pattern = parsePathPattern(text)
  if (!pattern.ok) return null
  const fromHome = pattern.value.fromHome && meaning.home === null
  const segments = resolvePattern(pattern.value, { ...meaning, home: meaning.home ?? [] })
  return segments && { kind: 'path', fromHome, segments }
}
