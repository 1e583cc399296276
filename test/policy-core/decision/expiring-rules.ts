import type { Policy, Rule } from '@palisade/policy-core'

export const NOON = Date.parse('2026-11-26T12:00:00Z')

export function rule(
  id: string,
  resource: string,
  expires_at?: string,
  decision: Rule['decision'] = 'allow',
): Rule {
  const action = resource.startsWith('/') ? 'read' : 'connect:tcp'
  const base = { id, name: id, actions: [action] as const, decision, resources: [resource] }
  return expires_at === undefined ? base : { ...base, expires_at }
}

export function policy(id: string, rules: readonly Rule[], mode?: string): Policy {
  return { id, name: id, mode, allowlist_v0: { rules } }
}

/** One rule that expires at `NOON`. */
export const expiring = [policy('pol_1', [rule('r1', 'api.example.com', '2026-11-26T12:00:00Z')])]
