import { PolicyError } from '../errors.ts'
import type { ProtectedClass } from '../address/protected-address.ts'
import type { AddressIndex } from '../lookup/address/address-index.ts'
import type { Groups } from '../lookup/groups.ts'
import type { NumberedSets } from '../lookup/chain-sets.ts'
import type { PathIndex } from '../lookup/path/path-index.ts'
import type { RuleTable } from '../lookup/rule-table.ts'
import type { VerdictSource } from '../lookup/verdicts.ts'
import type { GlobSegment } from '../path/glob.ts'
import type { NetworkPattern } from '../pattern/network-pattern.ts'
import type { Action, Domain } from '../policy/policy.ts'
import { quote, show } from '../quote.ts'
import type { Origin, RuleMatch } from '../policy/decision.ts'

/** A resource as written, with its parsed pattern. */
export type CompiledResource =
  | {
      readonly domain: 'network'
      readonly text: string
      readonly pattern: NetworkPattern
    }
  | {
      readonly domain: 'filesystem'
      readonly text: string
      /** Null when the pattern starts at the home directory and none is given. */
      readonly segments: readonly GlobSegment[] | null
    }

/** A rule with its patterns parsed, for code that reads rules one by one. */
export interface CompiledRule {
  /** The identity of the rule in decisions, without its origin and the matching resource. */
  readonly identity: Omit<RuleMatch, 'resource' | 'origin'>
  readonly origin: Origin
  readonly actions: readonly Action[]
  readonly domain: Domain
  readonly resources: readonly CompiledResource[]
  /** False for a rule that explanations show although it does not decide: see `MatchedRule`. */
  readonly active: boolean
  /** Conditions that keep an otherwise active rule from deciding. */
  readonly lapses: readonly Lapse[]
}

/** The rule has expired, has not begun, is a spent grant, or its policy is a shadow policy. */
export type Lapse = 'expired' | 'not_begun' | 'shadow' | 'spent'

/** Finds the set of a name. */
export interface NameSets {
  readonly sets: NumberedSets
  /** The set for a plainly canonical name, or `NOT_PLAIN`. */
  find(text: string): number
  /** The set for a canonical name. */
  findCanonical(name: string): number
}

/** The parts of a policy set whose effect depends on the time or the mode. */
export interface Conditions {
  /**
   * The instants at which rules begin or expire, in milliseconds since 1970, ascending, distinct.
   */
  readonly instants: readonly number[]
  readonly hasShadow: boolean
  /** Whether a request that no rule matches is allowed. */
  readonly observes: boolean
  /** The policies as they are enforced at this time. */
  readonly enforced: (now: number) => CompiledPolicy
  /** The policies as if every shadow policy were enforced at this time. */
  readonly shadowed: (now: number) => CompiledPolicy
  /** The policies as they stay without the passing of time. */
  readonly frozen: (now: number) => CompiledPolicy
  /** The policies without these grants. */
  readonly without: (grants: ReadonlySet<string>) => CompiledPolicy
}

/**
 * Policies compiled for decisions. Immutable and safe to share. Its members are internal to this
 * package and may change in any version. Some parts are built at first use and kept within limits.
 *
 * @opaque
 */
export interface CompiledPolicy {
  /** The revision of the bundle that contained the policies. */
  readonly revision: number | null
  /** Rules by policy id, then rule id: the order of rules in decisions. */
  readonly table: RuleTable
  readonly groups: Groups
  readonly verdicts: VerdictSource
  readonly names: NameSets
  readonly addresses: Omit<AddressIndex, 'sets'> & { readonly sets: NumberedSets }
  readonly paths: PathIndex
  /** The result of `linearRules`. */
  readonly linear: () => readonly CompiledRule[]
  /** Whether names that no rule allows are resolved, by slot. */
  readonly resolvesUnlisted: readonly boolean[]
  readonly machine: readonly ProtectedClass[]
  readonly caseSensitive: boolean
  /** Null when all rules decide at all times and the default enforces. */
  readonly conditions: Conditions | null
}

/**
 * Throws `ERR_OPTION_INVALID` for a value that is not compiled, which JavaScript callers can pass.
 * The common mistake is a policy set.
 */
export function requireCompiled(name: string, policy: Partial<CompiledPolicy> | null): void {
  if (typeof policy?.linear === 'function') return
  throw new PolicyError(
    'ERR_OPTION_INVALID',
    `${quote(name)}: ${show(policy)} is not a compiled policy; ` +
      `give the result of \`compilePolicy\``,
  )
}
