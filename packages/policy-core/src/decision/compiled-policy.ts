import type { ProtectedClass } from '../address/protected-address.ts'
import type { GlobSegment } from '../path/glob.ts'
import type { NetworkPattern } from '../pattern/network-pattern.ts'
import type { Action, Domain, NetworkAction } from '../policy/policy.ts'
import type { Origin, RuleMatch } from './decision.ts'

/** A resource as it was written, and what it means. */
export type CompiledResource =
  | {
      readonly domain: 'network'
      readonly text: string
      readonly pattern: NetworkPattern
    }
  | {
      readonly domain: 'filesystem'
      readonly text: string
      /** Null when the pattern starts at a home directory that nobody gave. */
      readonly segments: readonly GlobSegment[] | null
    }

export interface CompiledRule {
  /** What a decision says of the rule, but for its origin and the resource that matched. */
  readonly identity: Omit<RuleMatch, 'resource' | 'origin'>
  readonly origin: Origin
  readonly actions: readonly Action[]
  readonly domain: Domain
  readonly resources: readonly CompiledResource[]
  /** False for a local allow on a governed machine: shown, never deciding. */
  readonly active: boolean
}

/**
 * Policies made ready for decisions. Immutable and safe to share; its members are internal to
 * this package and may change in any version.
 */
export interface CompiledPolicy {
  readonly revision: number | null
  /** By policy id, then rule id: the order in which decisions list them. */
  readonly rules: readonly CompiledRule[]
  /** The actions for which a name that no rule allows is resolved all the same. */
  readonly resolvesUnlisted: Readonly<Record<NetworkAction, boolean>>
  readonly machine: readonly ProtectedClass[]
  readonly caseSensitive: boolean
}
