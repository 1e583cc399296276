import { sumPathLoads, type PathLoad } from '@palisade/policy-core'
import { invalidArgument } from '../../platform/api-error.ts'
import { quote } from '../../http/input/describe-issue.ts'
import { withinField } from '../../http/input/within-field.ts'
import type { Work } from '../../work/work-budget.ts'
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
import { hasPathWildcards, readPathLoad } from '../compilation/path-loads.ts'
import { requirePathCost } from '../compilation/path-cost-limit.ts'
import { requireCompilablePolicy } from '../compilation/require-compilable.ts'
import { formatTimestamp, nextTimestamp } from '../../platform/timestamp.ts'
import type { WantedPolicy } from './read-document.ts'
import { hasSameRules, isSameList } from './same-rules.ts'
import { withinPolicy } from './within-policy.ts'

/** The changes that give an organization the policies of a document. */
export interface PolicyPlan {
  readonly created: readonly PlannedPolicy[]
  readonly updated: readonly (PlannedPolicy & { readonly old: PolicyRecord })[]
  readonly deleted: readonly PolicyRecord[]
  readonly unchanged: number
  /** Policies that stay although the document does not contain them. */
  readonly unmanaged: readonly Pick<PolicyRecord, 'name'>[]
}

export interface PlannedPolicy {
  /** Its field in the document. */
  readonly field: string
  /** The new state; the store assigns its revision. */
  readonly policy: PolicyRecord
}

/** Options and sources for planned changes. */
export interface PlanContext {
  readonly org: string
  /** Whether policies that are not in the document are deleted. */
  readonly prune: boolean
  readonly newId: (prefix: IdPrefix) => string
  /** Returns an `updated_at` later than `previous`, which is null for a new policy. */
  readonly timestampAfter: (previous: string | null) => string
}

/** Creates the context of a plan that is made now. */
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
 * Compares policies by name within the organization, and rules by name within their policy. The
 * name determines the id, so a policy renamed in a document becomes another policy. Throws 400 when
 * a policy with teams would apply to the whole organization without an explicit scope.
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
    if (old === undefined) created.push({ field: policy.field, policy: create(policy, context) })
    else {
      const changed = change(old, policy, context)
      if (changed !== null) updated.push({ field: policy.field, policy: changed, old })
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
 * Throws 400 unless every changed policy compiles as a whole. `hadAll` says that the organization
 * had all of these policies before, so that all of their patterns count as stored ones.
 */
export async function requireCompilablePlan(
  known: KnownRules,
  { created, updated }: PolicyPlan,
  work: Pick<Work, 'turn'>,
  { hadAll }: { readonly hadAll: boolean } = { hadAll: false },
): Promise<void> {
  const all = [...created.map((planned) => ({ ...planned, old: null })), ...updated]
  for (const { field, policy, old } of all) {
    for (const rule of policy.rules) {
      const found = knownRule(known, rule)
      found.problems ??= await findProblemsInTurns(rule, work)
    }
    withinField(field, () => requireCompilablePolicy(known, policy, hadAll ? policy : old))
    await work.turn()
  }
}

/** The policies of the organization before the plan. */
export interface PlannedFor {
  /** Policies that were read with their rules. */
  readonly stored: readonly PolicyRecord[]
  /** Computes the path loads of all other policies; called only when they matter. */
  readonly otherLoads: () => Promise<readonly PathLoad[]>
}

/** Throws 400 when the path patterns of the organization would together cost too much. */
export async function requirePlanPathCost(
  known: KnownRules,
  { created, updated, deleted }: PolicyPlan,
  { stored, otherLoads }: PlannedFor,
  work: Pick<Work, 'turn'>,
): Promise<void> {
  const changed = [...created, ...updated].map(({ policy }) => policy)
  if (!changed.some(({ rules }) => rules.some(hasPathWildcards))) return
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
  requirePathCost({
    others: [...others, ...(await otherLoads())],
    before: await read(replaced),
    after,
    written: sumPathLoads(after),
  })
}

/** Throws 403 when the plan exceeds a limit. A number of rules that does not grow may exceed it. */
export async function requirePlanWithinLimits(
  limits: PolicyLimits,
  stored: number,
  { created, updated, deleted }: PolicyPlan,
  work: Pick<Work, 'turn'>,
): Promise<void> {
  if (created.length > 0) requireRoomForPolicy(limits, stored - deleted.length + created.length - 1)
  const grown = updated.filter(({ old, policy }) => policy.rules.length > old.rules.length)
  for (const { field, policy } of [...created, ...grown])
    within(field, policy, () => requireRuleCount(limits, policy.rules.length))
  for (const { field, policy } of [...created, ...updated]) {
    within(field, policy, () => requirePolicySize(limits, policy))
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
    ...modeOf(wanted),
    created_at: timestamp,
    updated_at: timestamp,
    revision: 0,
    rules: wanted.rules.map((rule) => ({ id: newId('rule'), ...rule })),
  }
}

/** Returns the new state of a policy, or null when it needs no change. */
function change(
  old: PolicyRecord,
  wanted: WantedPolicy,
  { newId, timestampAfter }: PlanContext,
): PolicyRecord | null {
  if (wanted.teams === null && old.teams.length > 0)
    throw invalidArgument(
      `policy ${quote(old.name)} applies to teams; ` +
        'write `scope: {"teams": []}` to apply it to the whole organization',
      { field: `${wanted.field}.scope` },
    )
  const teams = wanted.teams ?? []
  const ids = new Map(old.rules.map(({ id, name }) => [name, id]))
  const rules = wanted.rules.map((rule) => ({ id: ids.get(rule.name) ?? newId('rule'), ...rule }))
  const isSameHead = isSameList(teams, old.teams) && wanted.mode === old.mode
  if (isSameHead && hasSameRules(rules, old.rules)) return null
  const { mode: _replaced, ...kept } = old
  const updated_at = timestampAfter(old.updated_at)
  return { ...kept, teams, ...modeOf(wanted), rules, updated_at }
}

function modeOf({ mode }: WantedPolicy): Pick<PolicyRecord, 'mode'> {
  return mode === undefined ? {} : { mode }
}

function within(field: string, policy: PolicyRecord, check: () => void): void {
  withinField(field, () => withinPolicy(policy.name, check))
}
