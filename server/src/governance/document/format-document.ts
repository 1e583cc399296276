import type { ApplyResponse, PolicyChange, ShownPolicy } from '@palisade/protocol'
import type { PolicyRecord } from '../../store/records.ts'
import type { PolicyPlan } from './plan-changes.ts'
import type { TeamNames } from './team-names.ts'

/** A policy as documents have it: names in the place of ids. */
export function showPolicy(policy: PolicyRecord, teamNames: TeamNames): ShownPolicy {
  const teams = policy.teams.map((id) => teamNames.shownAs(id))
  return {
    name: policy.name,
    scope: teams.length === 0 ? {} : { teams },
    rules: policy.rules.map(({ name, actions, decision, resources }) => ({
      name,
      actions: [...actions],
      decision,
      resources: [...resources],
    })),
  }
}

/** What a plan comes to; ids of what is yet to be created are not shown by a dry run. */
export function showPlan(
  plan: PolicyPlan,
  teamNames: TeamNames,
  { revision, dryRun }: { readonly revision: number; readonly dryRun: boolean },
): ApplyResponse {
  const show = (policy: PolicyRecord) => showPolicy(policy, teamNames)
  const deleted = plan.deleted.map((old): PolicyChange => {
    return { change: 'deleted', name: old.name, id: old.id, old: show(old) }
  })
  const updated = plan.updated.map(({ old, policy }): PolicyChange => {
    return { change: 'updated', name: old.name, id: old.id, old: show(old), new: show(policy) }
  })
  const created = plan.created.map(({ policy }): PolicyChange => {
    const id = dryRun ? {} : { id: policy.id }
    return { change: 'created', name: policy.name, ...id, new: show(policy) }
  })
  return {
    dry_run: dryRun,
    revision,
    changes: [deleted, updated, created].flatMap((changes) => changes.toSorted(byName)),
    unchanged: plan.unchanged,
    unmanaged: plan.unmanaged.map(({ name }) => name).toSorted(),
  }
}

/** By code units, so that two exports of the same policies are the same text. */
export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  if (a.name === b.name) return 0
  return a.name < b.name ? -1 : 1
}
