import type { CompiledPolicy, CompiledRule } from './compiled-policy.ts'

/** Every rule with its parsed patterns, in the order in which decisions list rules. */
export function linearRules(policy: CompiledPolicy): readonly CompiledRule[] {
  return policy.rules
}
