import { compare, type Change } from '@palisade/policy-analysis'
import { compilePolicy, effectivePolicies, type Policy } from '@palisade/policy-core'
import type { ApplyResponse, ExportResponse, ShownPolicy } from '@palisade/protocol'

/** The effect of a plan on machines whose user is in exactly these of the teams in policies. */
export interface AudienceChanges {
  /** Empty for a user without a team, and for a machine without a user. */
  readonly teams: readonly string[]
  readonly reachable: readonly Change[]
  readonly blocked: readonly Change[]
  /** False if the comparison was too large to finish: more may change. */
  readonly complete: boolean
}

export interface PlanComparison {
  /** Audiences that the plan may affect; the one without a team first. */
  readonly audiences: readonly AudienceChanges[]
  /** Number of sets of teams that were left out because there are too many. */
  readonly omitted: number
}

/** Each audience needs a comparison of its own. */
const MAX_AUDIENCES = 60
/** Limit for all audiences together, about ten seconds. */
const MAX_STEPS = 10_000_000
const MIN_STEPS = 200_000

/** A directory that `~` stands for, and a time in milliseconds since 1970. */
export interface ComparedAt {
  readonly home: string
  readonly now: number
}

/**
 * Compares for every audience: machines without a team, members of each single team, and every set
 * of teams that some member is in. A member of two teams is subject to the policies of both, so
 * their changes do not follow from the changes for each team. Rules count as they do at `now`. A
 * default that observes is left out: the changes are those that follow once it enforces.
 */
export function comparePlan(
  snapshot: Pick<ExportResponse, 'policies' | 'team_sets'>,
  changes: ApplyResponse['changes'],
  { home, now }: ComparedAt,
): PlanComparison {
  const before = snapshot.policies
  const after = applyChanges(before, changes)
  const changed = changes.flatMap((change) => [change.old, change.new].filter(isPolicy))
  const used = new Set([...before, ...after].flatMap(({ scope }) => scope.teams ?? []))
  const of = createAudience(used)
  const concerned = listAudiences(used, snapshot.team_sets).filter(
    (teams) => of(changed, teams).length > 0,
  )
  const audiences = concerned.slice(0, MAX_AUDIENCES)
  const maxSteps = Math.max(MIN_STEPS, Math.floor(MAX_STEPS / Math.max(1, audiences.length)))
  return {
    audiences: audiences.map((teams) => {
      const [older, newer] = [before, after].map((policies) =>
        compilePolicy({ policies: of(policies, teams), home }),
      )
      if (older === undefined || newer === undefined) throw new TypeError('two were compiled')
      const { reachable, blocked, complete } = compare(older, newer, { maxSteps, now })
      return { teams, reachable, blocked, complete }
    }),
    omitted: concerned.length - audiences.length,
  }
}

/** Returns the policies after the changes. */
export function applyChanges(
  before: readonly ShownPolicy[],
  changes: ApplyResponse['changes'],
): readonly ShownPolicy[] {
  const after = new Map(before.map((policy) => [policy.name, policy]))
  for (const { name, new: policy } of changes)
    if (policy === undefined) after.delete(name)
    else after.set(name, policy)
  return [...after.values()]
}

/** Lists the sets of teams, smaller sets first. */
function listAudiences(
  used: ReadonlySet<string>,
  teamSets: readonly (readonly string[])[],
): readonly (readonly string[])[] {
  const sets = new Map<string, readonly string[]>()
  const singles = [...used].toSorted().map((team) => [team])
  for (const teams of [[], ...singles, ...teamSets]) {
    const concerned = teams.filter((team) => used.has(team)).toSorted()
    sets.set(JSON.stringify(concerned), concerned)
  }
  return [...sets.values()].toSorted((a, b) => a.length - b.length)
}

/**
 * Returns a function that finds the policies for `teams`. Numbers stand in for team ids, which are
 * compared without case, because names may differ only in case.
 */
function createAudience(
  used: ReadonlySet<string>,
): (policies: readonly ShownPolicy[], teams: readonly string[]) => Policy[] {
  const ids = new Map([...used].map((team, index) => [team, String(index)]))
  const idsOf = (teams: readonly string[]) => teams.map((team) => ids.get(team) ?? '')
  return (policies, teams) => {
    const all = policies.map((policy) => toPolicy(policy, idsOf(policy.scope.teams ?? [])))
    return effectivePolicies(all, idsOf(teams))
  }
}

function isPolicy(policy: ShownPolicy | undefined): policy is ShownPolicy {
  return policy !== undefined
}

/** Names stand in for ids, which the evaluator needs only to distinguish rules. */
function toPolicy({ name, mode, rules }: ShownPolicy, teams: string[]): Policy {
  return {
    id: name,
    name,
    scope: { teams },
    mode,
    allowlist_v0: { rules: rules.map((rule) => ({ id: rule.name, ...rule })) },
  }
}
