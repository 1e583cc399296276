import type { ProtectedClass } from '../address/protected-address.ts'
import { compilePolicy } from '../decision/compile-policy.ts'
import { readNow } from '../decision/conditions.ts'
import type { Origin } from '../decision/decision.ts'
import type { CompileOptions, PolicySet } from '../decision/policy-set.ts'
import type { Segments } from '../language/path-automaton.ts'
import { segmentsOf } from '../path/path.ts'
import { keyOfSegments } from '../pattern/format-pattern.ts'
import type { NetworkPattern } from '../pattern/network-pattern.ts'
import { parseNetworkPattern } from '../pattern/parse-network-pattern.ts'
import { parsePathPattern, placePattern, type PathMeaning } from '../pattern/path-pattern.ts'
import { parseInstant } from '../policy/instant.ts'
import { domainOf, isShadow, type Action, type Policy, type Rule } from '../policy/policy.ts'
import type { FindingRule } from './finding.ts'
import { createTeamsReader, type Teams } from './teams.ts'

/** Options for checking policies. */
export interface LintOptions extends CompileOptions {
  /** The time as in `DecideOptions`. Required when a rule expires. */
  readonly now?: number | undefined
}

/** A path pattern. Without a known home, `segments` holds only the part after `~`. */
export interface PlacedPath {
  readonly kind: 'path'
  readonly fromHome: boolean
  readonly segments: Segments
}

export type LintPattern = NetworkPattern | PlacedPath

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

/** Reads every resource once. Throws `PolicyError` as `compilePolicy` does. */
export function readLintSet(set: PolicySet, { now, ...options }: LintOptions): LintSet {
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

/** Refers to a resource in a finding. */
export function refer(entry: Entry): FindingRule {
  return { ...entry.rule.identity, resource: entry.text }
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
  const segments = placePattern(pattern.value, { ...meaning, home: meaning.home ?? [] })
  return segments && { kind: 'path', fromHome, segments }
}

/** A key that is equal for equivalent patterns. */
export function keyOf(pattern: LintPattern): string {
  if (pattern.kind === 'name') return `${pattern.depth} ${pattern.domain} ${pattern.port ?? '*'}`
  if (pattern.kind === 'range') {
    const { family, base, prefix } = pattern.range
    return `ipv${family} ${base} ${prefix} ${pattern.port ?? '*'}`
  }
  return `${pattern.fromHome ? '~' : ''}${keyOfSegments(pattern.segments)}`
}

/** The port of a network pattern; null for all ports, and for paths. */
export function portOf(pattern: LintPattern): number | null {
  return pattern.kind === 'path' ? null : pattern.port
}

/** The pattern on another port; null means all ports. */
export function onPort(pattern: LintPattern, port: number | null): LintPattern {
  return pattern.kind === 'path' ? pattern : { ...pattern, port }
}
