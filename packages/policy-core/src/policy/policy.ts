/** What a rule may be about. The wire's closed list; network actions first. */
export const ACTIONS = ['connect:tcp', 'connect:udp', 'read', 'write'] as const

/** What a request wants to do. */
export type Action = (typeof ACTIONS)[number]

/** Actions on a host and port; `connect:tcp` says nothing about `connect:udp`. */
export type NetworkAction = 'connect:tcp' | 'connect:udp'

/** Actions on a path; `write` says nothing about `read`. */
export type FilesystemAction = 'read' | 'write'

/** Which kind of resource a rule names; derived from its actions, never chosen. */
export type Domain = 'network' | 'filesystem'

/** What a rule says, and what an evaluation answers. */
export type RuleDecision = 'allow' | 'deny'

/** One rule, in the shape of the governance API. */
export interface Rule {
  readonly id: string
  readonly name: string
  readonly actions: readonly Action[]
  readonly decision: RuleDecision
  /** Patterns as they were written; matched in canonical form only. */
  readonly resources: readonly string[]
}

/** Team UUIDs a policy applies to. Absent or empty means the whole organization. */
export interface Scope {
  readonly teams?: readonly string[] | undefined
}

/**
 * The part of a policy that the evaluator reads. The API's full representation (`org`,
 * `created_at`, `updated_at`) satisfies it.
 */
export interface Policy {
  readonly id: string
  readonly name: string
  readonly scope?: Scope | undefined
  /** Absent while the policy has no rules. */
  readonly allowlist_v0?: { readonly rules: readonly Rule[] } | undefined
}

/** Tells whether `value` is one of the four actions. */
export function isAction(value: unknown): value is Action {
  return (ACTIONS as readonly unknown[]).includes(value)
}

/** The domain that an action belongs to. */
export function domainOf(action: Action): Domain {
  return action === 'read' || action === 'write' ? 'filesystem' : 'network'
}
