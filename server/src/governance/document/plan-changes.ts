import { sumPathLoads, type PathLoad } from '@palisade/policy-core'
import { invalidArgument } from '../../platform/api-error.ts'
import { quote } from '../../http/input/describe-issue.ts'
import { withinField } from '../../http/input/within-field.ts'
import type { Work } from '../../operations/overload/work-budget.ts'
import type { PolicyRecord } from '../../store/records.ts'
import { createId, type IdPrefix } from '../object-id.ts'
import {
  requirePolicySize,
  requireRoomForPolicy,
  requireRuleCount,
  type PolicyLimits,
} from '../policy-limits.ts'
import { findProblemsInTurns } from '../checked-resources.ts'
import { knownRule, type KnownRules } from '../known-rules.ts'
import { hasPathStars, readPathLoad } from '../compilation/path-loads.ts'
import { requirePathRoom } from '../compilation/path-room.ts'
import { requireCompilablePolicy } from '../compilation/require-compilable.ts'
import { formatTimestamp, nextTimestamp } from '../../platform/timestamp.ts'
import type { WantedPolicy } from './read-document.ts'
import { hasSameRules, isSameList } from './same-rules.ts'
import { withinPolicy } from './within-policy.ts'

/** What has to happen so that an organization has the policies of a document. */
export interface PolicyPlan {
  readonly created: readonly PlannedPolicy[]
  readonly updated: readonly (PlannedPolicy & { readonly old: PolicyRecord })[]
  readonly deleted: readonly PolicyRecord[]
  readonly unchanged: number
  /** Policies that are not in the document and stay. */
  readonly unmanaged: readonly Pick<PolicyRecord, 'name'>[]
}

export interface PlannedPolicy {
  /** Where it stands in the document. */
  readonly place: string
  /** As it becomes; its revision is still to be given by the store. */
  readonly policy: PolicyRecord
}

/** What new policies and rules are made with. */
export interface PlanContext {
  readonly org: string
  /** Policies that are not in the document are deleted. */
  readonly prune: boolean
  readonly newId: (prefix: IdPrefix) => string
  /** `updated_at` of a change that follows the given one; null for a new policy. */
  readonly timestampAfter: (previous: string | null) => string
}

/** What is planned now. */
export function createPlanContext(
  deps: { readonly now: () => Date; readonly random: (bytes: number) => Uint8Array },
  { org, prune }: Pick<PlanContext, 'org' | 'prune'>,
): PlanContext {
  const now = deps.now()
  return {
    org,
    prune,
    newId: (prefix) => createId(prefix, now, deps.random),
    timestampAfter: (previous) =>
      previous === null ? formatTimestamp(now) : nextTimestamp(previous, now),
  }
}

/**
 * Compares by name: policies in the organization, rules in their policy. What keeps its name keeps
 * its id, so a policy renamed in a document is another policy. Throws 400 where a policy of teams
 * would become one of the whole organization without the document saying so.
 */
export async function planChanges(
  stored: readonly PolicyRecord[],
  wanted: readonly WantedPolicy[],
  context: PlanContext,
  work: Pick<Work, 'turn'>,
): Promise<PolicyPlan> {
  const byName = new Map(stored.map((policy) => [policy.name, policy]))
  const names = new Set(wanted.map(({ name }) => name))
  const created: PlannedPolicy[] = []
  const updated: (PlannedPolicy & { old: PolicyRecord })[] = []
  for (const policy of wanted) {
    const old = byName.get(policy.name)
    if (old === undefined) created.push({ place: policy.place, policy: create(policy, context) })
    else {
      const changed = change(old, policy, context)
      if (changed !== null) updated.push({ place: policy.place, policy: changed, old })
    }
    await work.turn()
  }
  const others = stored.filter(({ name }) => !names.has(name))
  return {
    created,
    updated,
    deleted: context.prune ? others : [],
    unchanged: wanted.length - created.length - updated.length,
    unmanaged: context.prune ? [] : others,
  }
}

/**
 * Throws 400 unless every changed policy compiles as a whole. `hadAll`: the organization has had
 * all of the policies, so that none of their patterns is a new one.
 */
export async function requireCompilablePlan(
  known: KnownRules,
  { created, updated }: PolicyPlan,
  work: Pick<Work, 'turn'>,
  { hadAll }: { readonly hadAll: boolean } = { hadAll: false },
): Promise<void> {
  const all = [...created.map((planned) => ({ ...planned, old: null })), ...updated]
  for (const { place, policy, old } of all) {
    for (const rule of policy.rules) {
      const found = knownRule(known, rule)
      found.problems ??= await findProblemsInTurns(rule, work)
    }
    withinField(place, () => requireCompilablePolicy(known, policy, hadAll ? policy : old))
    await work.turn()
  }
}

/** The policies of the organization that a plan was made for. */
export interface PlannedFor {
  /** Those that were read with their rules. */
  readonly stored: readonly PolicyRecord[]
  /** Loads of the path patterns of all others; asked only where that matters. */
  readonly otherLoads: () => Promise<readonly PathLoad[]>
}

/** Throws 400 where the path patterns of the organization would cost too much together. */
export async function requirePlanPathRoom(
  known: KnownRules,
  { created, updated, deleted }: PolicyPlan,
  { stored, otherLoads }: PlannedFor,
  work: Pick<Work, 'turn'>,
): Promise<void> {
  const changed = [...created, ...updated].map(({ policy }) => policy)
  if (!changed.some(({ rules }) => rules.some(hasPathStars))) return
  const read = async (policies: readonly PolicyRecord[]): Promise<PathLoad[]> => {
    const loads: PathLoad[] = []
    for (const { rules } of policies) {
      loads.push(await readPathLoad(known, rules))
      await work.turn()
    }
    return loads
  }
  const replaced = [...updated.map(({ old }) => old), ...deleted]
  const ids = new Set(replaced.map(({ id }) => id))
  const after = await read(changed)
  const others = await read(stored.filter(({ id }) => !ids.has(id)))
  requirePathRoom({
    others: [...others, ...(await otherLoads())],
    before: await read(replaced),
    after,
    written: sumPathLoads(after),
  })
}

/** Throws 403 where the plan ends beyond a limit; what shrinks may stay beyond one. */
export async function requirePlanWithinLimits(
  limits: PolicyLimits,
  stored: number,
  { created, updated, deleted }: PolicyPlan,
  work: Pick<Work, 'turn'>,
): Promise<void> {
  if (created.length > 0) requireRoomForPolicy(limits, stored - deleted.length + created.length - 1)
  const grown = updated.filter(({ old, policy }) => policy.rules.length > old.rules.length)
  for (const { place, policy } of [...created, ...grown])
    within(place, policy, () => requireRuleCount(limits, policy.rules.length))
  for (const { place, policy } of [...created, ...updated]) {
    within(place, policy, () => requirePolicySize(limits, policy))
    await work.turn()
  }
}

function create(wanted: WantedPolicy, { org, newId, timestampAfter }: PlanContext): PolicyRecord {
  const timestamp = timestampAfter(null)
  return {
    id: newId('pol'),
    org,
    name: wanted.name,
    teams: wanted.teams ?? [],
    created_at: timestamp,
    updated_at: timestamp,
    revision: 0,
    rules: wanted.rules.map((rule) => ({ id: newId('rule'), ...rule })),
  }
}

/** Null when the policy is as wanted. */
function change(
  old: PolicyRecord,
  wanted: WantedPolicy,
  { newId, timestampAfter }: PlanContext,
): PolicyRecord | null {
  if (wanted.teams === null && old.teams.length > 0)
    throw invalidArgument(
      `policy ${quote(old.name)} applies to teams; write \`scope: {"teams": []}\` to open it to the whole organization`,
      { field: `${wanted.place}.scope` },
    )
  const teams = wanted.teams ?? []
  const ids = new Map(old.rules.map(({ id, name }) => [name, id]))
  const rules = wanted.rules.map((rule) => ({ id: ids.get(rule.name) ?? newId('rule'), ...rule }))
  if (isSameList(teams, old.teams) && hasSameRules(rules, old.rules)) return null
  return { ...old, teams, rules, updated_at: timestampAfter(old.updated_at) }
}

function within(place: string, policy: PolicyRecord, judge: () => void): void {
  withinField(place, () => withinPolicy(policy.name, judge))
}
