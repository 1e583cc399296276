import { PARSING } from '../pattern/pattern-reader.ts'
import { resolvePattern, type PathMeaning } from '../pattern/path-pattern.ts'
import type { RuleEntry, RuleTable } from '../lookup/rule-table.ts'
import { domainOf, type Domain } from '../policy/policy.ts'
import type { CompiledPolicy, CompiledResource, CompiledRule } from './compiled-policy.ts'

/** Every rule with its parsed patterns, in the order of decisions. */
export function linearRules(policy: CompiledPolicy): readonly CompiledRule[] {
  return policy.linear()
}

/**
 * Parses the rules again at first use and keeps them. Decisions do not need this form, which takes
 * several times the memory of the indices.
 */
export function createLinearRules(
  table: RuleTable,
  meaning: PathMeaning,
): () => readonly CompiledRule[] {
  let rules: readonly CompiledRule[] | null = null
  return () =>
    (rules ??= Array.from({ length: table.rules }, (_, rule) =>
      compileRule(table.entryOf(rule), meaning),
    ))
}

function compileRule(entry: RuleEntry, meaning: PathMeaning): CompiledRule {
  const { policy, id, name, decision, actions, resources } = entry
  const isFullyActive = policy.isFullyActive || decision === 'deny'
  const [action = 'read'] = actions
  const domain = domainOf(action)
  return {
    identity: {
      policy_id: policy.id,
      policy_name: policy.name,
      rule_id: id,
      rule_name: name,
      decision,
    },
    origin: policy.origin,
    actions,
    domain,
    resources: resources.flatMap((text) => compileResource(text, domain, meaning)),
    active: isFullyActive,
    lapses: [],
  }
}

/** Empty only for a resource that does not compile. */
function compileResource(text: string, domain: Domain, meaning: PathMeaning): CompiledResource[] {
  if (domain === 'filesystem') {
    const pattern = PARSING.filesystem(text)
    return pattern.ok ? [{ domain, text, segments: resolvePattern(pattern.value, meaning) }] : []
  }
  const pattern = PARSING.network(text)
  return pattern.ok ? [{ domain, text, pattern: pattern.value }] : []
}
