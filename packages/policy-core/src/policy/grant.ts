import type { Action, Policy, Rule } from './policy.ts'

/**
 * Access of one user for a time: one more allow of a governed machine. Every deny overrides it, and
 * it opens no protected address, not even one that it names.
 */
export interface Grant {
  readonly id: string
  readonly action: Action
  /** Patterns as in a rule; at least one. */
  readonly resources: readonly string[]
  /** RFC 3339 UTC. The grant counts from this instant on. */
  readonly not_before: string
  /** RFC 3339 UTC. The grant counts before this instant only. */
  readonly expires_at: string
}

/** Identity of the policy that decisions name for all grants. */
export const GRANT_POLICY = { id: 'grants', name: 'access grants' } as const

/** A grant as a rule, with its id as id and name. */
export type GrantRule = Rule & Pick<Grant, 'not_before'>

/** The grants as the rules of one policy. */
export function policyOfGrants(grants: readonly Grant[]): Policy {
  // Not `map`, which skips the holes of a sparse array.
  const rules = Array.from(grants, ({ id, action, resources, not_before, expires_at }) => {
    const rule: GrantRule = {
      id,
      name: id,
      actions: [action],
      decision: 'allow',
      resources,
      not_before,
      expires_at,
    }
    return rule
  })
  return { ...GRANT_POLICY, allowlist_v0: { rules } }
}
