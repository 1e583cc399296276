import { policyAt, type CompiledPolicy } from '@palisade/policy-core'
import type { Enforcement } from '../state/agent-state.ts'
import type { CompiledBundle } from './compile-bundle.ts'

type Enforced = Enforcement<CompiledBundle>

/** Drops the rules that have expired; calls `onExpiry` when these are others than before. */
export function dropExpired(now: () => number, onExpiry: () => void): (rule: Enforced) => Enforced {
  let seen: { readonly whole: CompiledPolicy; readonly present: CompiledPolicy } | null = null
  return (rule) => {
    if (rule.kind === 'nothing') return rule
    const { compiled: whole } = rule.bundle
    const present = policyAt(whole, now())
    if (seen?.whole === whole && seen.present !== present) onExpiry()
    if (seen?.present !== present) seen = { whole, present }
    return present === whole ? rule : { ...rule, bundle: { ...rule.bundle, compiled: present } }
  }
}
