import { PolicyError } from '../errors.ts'
import type { ProtectedClass } from '../address/protected-address.ts'
import type { AddressIndex } from '../lookup/address/address-index.ts'
import type { Groups } from '../lookup/groups.ts'
import type { NameIndex } from '../lookup/name/name-index.ts'
import type { PathIndex } from '../lookup/path/path-index.ts'
import type { RuleTable } from '../lookup/rule-table.ts'
import type { Verdicts } from '../lookup/verdicts.ts'
import type { GlobSegment } from '../path/glob.ts'
import type { NetworkPattern } from '../pattern/network-pattern.ts'
import type { Action, Domain } from '../policy/policy.ts'
import { quote, show } from '../quote.ts'
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

/** A rule with its patterns parsed, for whoever reads rules one by one. */
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
 * this package and may change in any version. (Inside it works out some things only when they are
 * asked for, and keeps them within limits.)
 *
 * @opaque
 */
export interface CompiledPolicy {
  /** Of the bundle that the policies came in. */
  readonly revision: number | null
  /** By policy id, then rule id: the order in which decisions list them. */
  readonly table: RuleTable
  readonly groups: Groups
  readonly verdicts: Verdicts
  readonly names: NameIndex
  readonly addresses: AddressIndex
  readonly paths: PathIndex
  /** What `linearRules` answers. */
  readonly linear: () => readonly CompiledRule[]
  /** By slot: whether a name that no rule allows is resolved all the same. */
  readonly resolvesUnlisted: readonly boolean[]
  readonly machine: readonly ProtectedClass[]
  readonly caseSensitive: boolean
}

/**
 * Throws `ERR_OPTION_INVALID` for another value, which JavaScript can give. A policy set is the
 * natural mistake.
 */
export function requireCompiled(name: string, policy: Partial<CompiledPolicy> | null): void {
  if (typeof policy?.linear === 'function') return
  throw new PolicyError(
    'ERR_OPTION_INVALID',
    `${quote(name)}: ${show(policy)} is no compiled policy; give what \`compilePolicy\` returns`,
  )
}
