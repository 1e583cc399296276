import {
  allowsAllBelow,
  compilePolicy,
  decide,
  effectivePolicies,
  isFilesystemAction,
  type CompiledPolicy,
  type Decision,
  type Policy,
} from '@palisade/policy-core'
import type { Target } from './sort-requests.ts'
import type { SuggestOrganization } from './suggest-input.ts'
import type { Uncovered } from './uncovered-requests.ts'

/**
 * Compiles the policies of a member, or of a device without a user (null); null for a name that is
 * no member. Members with the same policies share them.
 */
export function createPolicySets({
  policies,
  members,
}: SuggestOrganization): (username: string | null) => CompiledPolicy | null {
  const teamsOf = new Map<string | null, readonly string[]>([[null, []]])
  for (const { username, teams } of members) teamsOf.set(username, teams.toSorted())
  const byTeams = new Map<string, CompiledPolicy>()
  const byPolicies = new Map<string, CompiledPolicy>()
  return (username) => {
    const teams = teamsOf.get(username)
    if (teams === undefined) return null
    const known = byTeams.get(teams.join())
    if (known !== undefined) return known
    const effective = effectivePolicies(policies, teams)
    const key = JSON.stringify(effective.map(({ id }) => id))
    const compiled = byPolicies.get(key) ?? compileEnforced(effective)
    byPolicies.set(key, compiled)
    byTeams.set(teams.join(), compiled)
    return compiled
  }
}

/** Without the default `observe`, which would allow every request in question. */
export function compileEnforced(policies: readonly Policy[]): CompiledPolicy {
  return compilePolicy({ policies })
}

/**
 * Decides a recorded request as machines with these policies would now; null is for users who are
 * no members. Returns null for a request that no rule matches, which a suggestion may open.
 */
export function evaluateRequest(
  set: CompiledPolicy | null,
  target: Target,
  at: { readonly address: string | null; readonly now: number },
): Uncovered | null {
  if (set === null)
    return { reason: 'not_a_member', detail: 'its users have left the organization' }
  const { decision, reason, rules } = decideTarget(set, target, at)
  if (decision === 'allow')
    return { reason: 'already_allowed', detail: 'the present policies allow it' }
  switch (reason) {
    case 'default_deny':
      return null
    case 'protected_address':
      return { reason, detail: 'the present policies protect its address' }
    case 'invalid_request':
      return { reason: 'unreadable', detail: 'the request is invalid' }
    default:
      return { reason: 'denied_by_rule', detail: describeDeny(rules) }
  }
}

/** A directory is open for a sandbox only with everything below it. */
function decideTarget(
  set: CompiledPolicy,
  { action, host, port, path, isTree }: Target,
  { address, now }: { readonly address: string | null; readonly now: number },
): Pick<Decision, 'decision' | 'reason' | 'rules'> {
  const network = address === null ? { action, host, port } : { action, host, port, address }
  if (path === null) return decide(set, network, { now })
  const decision = decide(set, { action, path }, { now })
  if (!isTree || !isFilesystemAction(action) || decision.decision === 'deny') return decision
  return allowsAllBelow(set, { action, path }, { now })
    ? decision
    : { decision: 'deny', reason: 'default_deny', rules: [] }
}

function describeDeny([rule]: Decision['rules']): string {
  return `rule \`${rule?.rule_name ?? ''}\` of policy \`${rule?.policy_name ?? ''}\` denies it`
}
