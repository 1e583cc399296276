import type { Action, Grant, RuleMatch } from '@palisade/policy-core'
import type {
  CompileOptions,
  PolicySet,
} from '../../../packages/policy-core/src/decision/policy-set.ts'
import { readAddress, type Address } from './address.ts'
import { readNetworkPattern, type NetworkPattern } from './network-pattern.ts'
import { formatPath, readPath, readPathPattern, type PathPattern } from './path.ts'

export type ReferencePattern =
  | ({ readonly domain: 'network' } & NetworkPattern)
  | ({ readonly domain: 'filesystem' } & PathPattern)

export interface ReferenceRule {
  readonly actions: readonly Action[]
  /** The rule matches from this time in milliseconds on only; null means always. */
  readonly begins: number | null
  /** The rule matches before this time in milliseconds only; null means always. */
  readonly expires: number | null
  readonly isShadow: boolean
  /** The reported match, without its resource. */
  readonly match: Omit<RuleMatch, 'resource'>
  readonly resources: readonly { readonly written: string; readonly pattern: ReferencePattern }[]
}

/** A parsed policy set, with active rules only. */
export interface ReferenceSet {
  readonly rules: readonly ReferenceRule[]
  readonly home: readonly string[] | null
  readonly machineAddresses: readonly Address[]
  readonly resolvesUnlistedNames: boolean
  readonly observes: boolean
  readonly revision: number | null
  readonly caseSensitive: boolean
}

/** Parses a policy set. Throws for any invalid part, with a minimal message. */
export function readPolicySet(set: PolicySet, options: CompileOptions = {}): ReferenceSet {
  const governed = set.governed ?? set.policies !== undefined
  const organization = readRules(set, 'org')
  const local = readRules(set, 'local')
  const grants = (set.grants ?? []).map(readGrant)
  return {
    // A user's rules can only deny more on a governed machine.
    rules: governed
      ? [...grants, ...organization, ...local.filter((rule) => rule.match.decision === 'deny')]
      : local,
    home: set.home === undefined ? null : readHome(set.home),
    machineAddresses: (set.machine_addresses ?? []).map((text) =>
      accepted(readAddress(text), `machine address ${text}`),
    ),
    resolvesUnlistedNames: set.resolve_unlisted_names ?? false,
    observes: governed && set.default === 'observe',
    revision: set.revision ?? null,
    caseSensitive: options.caseSensitive ?? true,
  }
}

function readRules(set: PolicySet, origin: 'org' | 'local'): ReferenceRule[] {
  const policies = (origin === 'org' ? set.policies : set.local) ?? []
  return policies.flatMap((policy) =>
    (policy.allowlist_v0?.rules ?? []).map((rule) => ({
      actions: rule.actions,
      begins: null,
      expires: rule.expires_at === undefined ? null : readInstant(rule.expires_at),
      isShadow: policy.mode === 'shadow',
      match: {
        policy_id: policy.id,
        policy_name: policy.name,
        rule_id: rule.id,
        rule_name: rule.name,
        decision: rule.decision,
        origin,
      },
      resources: readResources(rule.actions, rule.resources),
    })),
  )
}

/** An allow between two times. */
function readGrant({ id, action, resources, not_before, expires_at }: Grant): ReferenceRule {
  return {
    actions: [action],
    begins: readInstant(not_before),
    expires: readInstant(expires_at),
    isShadow: false,
    match: {
      policy_id: 'grants',
      policy_name: 'access grants',
      rule_id: id,
      rule_name: id,
      decision: 'allow',
      origin: 'grant',
    },
    resources: readResources([action], resources),
  }
}

function readResources(actions: readonly Action[], texts: readonly string[]) {
  return texts.map((written) => ({
    written,
    pattern: accepted(readPattern(actions, written), `resource ${written}`),
  }))
}

/** Reads one resource of a rule with `actions`. Returns null for an invalid one. */
export function readPattern(actions: readonly Action[], text: string): ReferencePattern | null {
  const isFilesystem = actions.some((action) => action === 'read' || action === 'write')
  if (isFilesystem) {
    const pattern = readPathPattern(text)
    return pattern && { domain: 'filesystem', ...pattern }
  }
  const pattern = readNetworkPattern(text)
  return pattern && { domain: 'network', ...pattern }
}

/** Only texts that spell the instant as JavaScript does, with or without milliseconds. */
function readInstant(text: string): number {
  const instant = new Date(text)
  const spelled = Number.isNaN(instant.getTime()) ? [] : spellingsOf(instant)
  return accepted(spelled.includes(text) ? instant.getTime() : null, `time ${text}`)
}

function spellingsOf(instant: Date): string[] {
  const full = instant.toISOString()
  return [full, full.replace(/0Z$/, 'Z'), full.replace(/00Z$/, 'Z'), full.replace(/\.000Z$/, 'Z')]
}

function readHome(text: string): readonly string[] {
  const segments = accepted(readPath(text), `home ${text}`)
  return accepted(formatPath(segments) === text ? segments : null, `home ${text}`)
}

function accepted<T>(value: T | null, what: string): T {
  if (value === null) throw new TypeError(`rejected: ${what}`)
  return value
}
