import type { LocatedPolicy } from './read-documents.ts'

/** A rule, or one of its resources, identified by names in place of ids. */
export interface NamedRule {
  readonly policy_id: string
  readonly rule_id: string
  readonly resource?: string
}

/** Finds file, line and column of a rule or a resource. Throws for a policy that is not there. */
export function locateRules(policies: readonly LocatedPolicy[]): (rule: NamedRule) => string {
  const byName = new Map(policies.map((one) => [one.policy.name, one]))
  return ({ policy_id, rule_id, resource }) => {
    const found = byName.get(policy_id)
    if (found === undefined) throw new TypeError(`policy \`${policy_id}\` is in no file`)
    const index = found.policy.rules.findIndex(({ name }) => name === rule_id)
    const rule = found.policy.rules[index]
    if (rule === undefined) return found.locate()
    const at = resource === undefined ? -1 : rule.resources.indexOf(resource)
    return found.locate(at === -1 ? ['rules', index, 'name'] : ['rules', index, 'resources', at])
  }
}
