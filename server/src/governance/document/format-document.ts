import type { ApplyResponse, PolicyChange, ShownPolicy } from '@palisade/protocol'
import type { Work } from '../../work/work-budget.ts'
import type { PolicyRecord } from '../../store/records.ts'
import { concatInTurns } from '../../work/concat-in-turns.ts'
import type { PolicyPlan } from './plan-changes.ts'
import type { TeamNames } from './team-names.ts'

/** Formats a policy for a document: with names instead of ids. */
export function showPolicy(policy: PolicyRecord, teamNames: TeamNames): ShownPolicy {
  const teams = policy.teams.map((id) => teamNames.shownAs(id))
  return {
    name: policy.name,
    scope: teams.length === 0 ? {} : { teams },
    ...(policy.mode === undefined ? {} : { mode: policy.mode }),
    rules: policy.rules.map(({ name, actions, decision, resources, expires_at }) => ({
      name,
      actions: [...actions],
      decision,
      resources: [...resources],
      ...(expires_at === undefined ? {} : { expires_at }),
    })),
  }
}

interface Shown {
  readonly revision: number
  readonly dryRun: boolean
}

/**
 * Formats a plan as an `ApplyResponse` in JSON, one change at a time: there may be hundreds, each
 * with two policies. The created policies of a dry run have no ids.
 */
export async function formatPlan(
  plan: PolicyPlan,
  teamNames: TeamNames,
  { work, ...shown }: Shown & { readonly work: Pick<Work, 'turn'> },
): Promise<Buffer> {
  const texts: Buffer[] = [
    Buffer.from(`${JSON.stringify(showHead(shown)).slice(0, -1)},"changes":[`),
  ]
  for (const [index, { show }] of listChanges(plan, teamNames, shown).entries()) {
    texts.push(Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(show())}`))
    await work.turn()
  }
  texts.push(Buffer.from(`],${JSON.stringify(showRest(plan)).slice(1)}`))
  return concatInTurns(texts, work)
}

function showHead({ dryRun, revision }: Shown): Pick<ApplyResponse, 'dry_run' | 'revision'> {
  return { dry_run: dryRun, revision }
}

function showRest({ unchanged, unmanaged }: PolicyPlan) {
  return { unchanged, unmanaged: unmanaged.map(({ name }) => name).toSorted() }
}

/** Lists changes in the order of the answer; `show` formats one on demand. */
function listChanges(
  plan: PolicyPlan,
  teamNames: TeamNames,
  { dryRun }: Shown,
): { readonly name: string; readonly show: () => PolicyChange }[] {
  const words = (policy: PolicyRecord) => showPolicy(policy, teamNames)
  const deleted = plan.deleted.map((old) => {
    const { id, name } = old
    return { name, show: (): PolicyChange => ({ change: 'deleted', name, id, old: words(old) }) }
  })
  const updated = plan.updated.map(({ old, policy }) => {
    const { id, name } = old
    const change = { change: 'updated', name, id } as const
    return { name, show: (): PolicyChange => ({ ...change, old: words(old), new: words(policy) }) }
  })
  const created = plan.created.map(({ policy }) => {
    const { name } = policy
    const change = { change: 'created', name, ...(dryRun ? {} : { id: policy.id }) } as const
    return { name, show: (): PolicyChange => ({ ...change, new: words(policy) }) }
  })
  return [deleted, updated, created].flatMap((changes) => changes.toSorted(byName))
}

/** Compares by code units, so that two exports of the same policies are equal texts. */
export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  if (a.name === b.name) return 0
  return a.name < b.name ? -1 : 1
}
