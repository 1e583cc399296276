import { policyAt, withoutGrants, type CompiledPolicy } from '@palisade/policy-core'
import type { Enforcement } from '../state/agent-state.ts'
import type { CompiledBundle } from './compile-bundle.ts'

type Enforced = Enforcement<CompiledBundle>

/**
 * Drops the rules and grants whose time is over or has not come, and the grants that are closed;
 * calls `onChange` when the rest is other than before.
 */
export function dropLapsed(deps: {
  readonly now: () => number
  /** Ids of grants of the bundle; the same set until it changes. */
  readonly closedGrants: (bundle: CompiledBundle) => ReadonlySet<string>
  readonly onChange: () => void
}): (rule: Enforced) => Enforced {
  let opened: { readonly whole: CompiledPolicy; readonly policy: CompiledPolicy } | null = null
  let closed: ReadonlySet<string> | null = null
  let seen: { readonly whole: CompiledPolicy; readonly present: CompiledPolicy } | null = null
  return (rule) => {
    if (rule.kind === 'nothing') return rule
    const { compiled: whole } = rule.bundle
    const ids = deps.closedGrants(rule.bundle)
    if (opened?.whole !== whole || closed !== ids) {
      opened = { whole, policy: withoutGrants(whole, ids) }
      closed = ids
    }
    const present = policyAt(opened.policy, deps.now())
    if (seen?.whole === whole && seen.present !== present) deps.onChange()
    if (seen?.present !== present) seen = { whole, present }
    return present === whole ? rule : { ...rule, bundle: { ...rule.bundle, compiled: present } }
  }
}
