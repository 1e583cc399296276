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
import type { OpenLine, Target } from './sort-requests.ts'
import type { Seen, SuggestOrganization } from './suggest-input.ts'

/** Sightings of a line by the decision of now on the machines of their users. */
export interface JudgedLine {
  /** No rule speaks of the request. */
  readonly open: readonly Seen[]
  readonly allowed: readonly Seen[]
  readonly denied: readonly { readonly detail: string; readonly seen: Seen }[]
  readonly protected: readonly Seen[]
  readonly invalid: readonly Seen[]
  /** By users that are no members any more. */
  readonly left: readonly Seen[]
}

/** Compiles the policies of members of some teams; those with the same policies share them. */
export interface CompiledSets {
  /** Of a member, or of a device without a user (null); null for a name that is no member. */
  ofUser(username: string | null): CompiledPolicy | null
}

export function compileSets({ policies, members }: SuggestOrganization): CompiledSets {
  const teamsOf = new Map(members.map(({ username, teams }) => [username, teams]))
  const byUser = new Map<string | null, CompiledPolicy>()
  const byTeams = new Map<string, CompiledPolicy>()
  const byPolicies = new Map<string, CompiledPolicy>()

  const compile = (teams: readonly string[]): CompiledPolicy => {
    const effective = effectivePolicies(policies, teams)
    const key = JSON.stringify(effective.map(({ id }) => id))
    const known = byPolicies.get(key)
    if (known !== undefined) return known
    const compiled = compileEnforced(effective)
    byPolicies.set(key, compiled)
    return compiled
  }

  return {
    ofUser(username) {
      const known = byUser.get(username)
      if (known !== undefined) return known
      const teams = username === null ? [] : teamsOf.get(username)
      if (teams === undefined) return null
      const key = teams.toSorted().join()
      const compiled = byTeams.get(key) ?? compile(teams)
      byTeams.set(key, compiled)
      byUser.set(username, compiled)
      return compiled
    },
  }
}

/** Without the default `observe`, which would allow every request in question. */
export function compileEnforced(policies: readonly Policy[]): CompiledPolicy {
  return compilePolicy({ policies })
}

/** Decides a line as the machines of its users would now. */
export function judgeLine(
  sets: CompiledSets,
  target: Target,
  { address, seen }: OpenLine,
  now: number,
): JudgedLine {
  const request = formatRequest(target, address)
  const decisions = new Map<CompiledPolicy, ReturnType<typeof decideTarget>>()
  const judged: { [Key in keyof JudgedLine]: JudgedLine[Key][number][] } = {
    open: [],
    allowed: [],
    denied: [],
    protected: [],
    invalid: [],
    left: [],
  }
  for (const each of seen) {
    const set = sets.ofUser(each.username)
    if (set === null) {
      judged.left.push(each)
      continue
    }
    const decision = decisions.get(set) ?? decideTarget(set, target, request, now)
    decisions.set(set, decision)
    if (decision.decision === 'allow') judged.allowed.push(each)
    else if (decision.reason === 'default_deny') judged.open.push(each)
    else if (decision.reason === 'protected_address') judged.protected.push(each)
    else if (decision.reason === 'invalid_request') judged.invalid.push(each)
    else judged.denied.push({ detail: describeDeny(decision), seen: each })
  }
  return judged
}

/** A directory is open for a sandbox only with everything below it. */
function decideTarget(
  set: CompiledPolicy,
  { action, path, isTree }: Target,
  request: Readonly<Record<string, unknown>>,
  now: number,
): Pick<Decision, 'decision' | 'reason' | 'rules'> {
  const made = decide(set, request, { now })
  if (!isTree || path === null || !isFilesystemAction(action) || made.decision === 'deny')
    return made
  return allowsAllBelow(set, { action, path }, { now })
    ? made
    : { decision: 'deny', reason: 'default_deny', rules: [] }
}

/** The request of a record, for `decide`. */
export function formatRequest(
  { action, host, port, path }: Pick<Target, 'action' | 'host' | 'port' | 'path'>,
  address: string | null,
): Readonly<Record<string, unknown>> {
  if (path !== null) return { action, path }
  return address === null ? { action, host, port } : { action, host, port, address }
}

function describeDeny({ rules: [rule] }: Pick<Decision, 'rules'>): string {
  return `rule \`${rule?.rule_name ?? ''}\` of policy \`${rule?.policy_name ?? ''}\` denies it`
}
