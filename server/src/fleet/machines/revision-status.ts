import { revisionStatusSchema, type RevisionStatus } from '@palisade/protocol'
import { authorize } from '../../identity/authorize.ts'
import { payerOf } from '../../identity/payer.ts'
import type { Caller } from '../../identity/principal.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import { createAnswerTurns, type AnswerTurns } from '../../work/answer-turns.ts'
import { notFound } from '../../platform/api-error.ts'
import type { WorkBudget } from '../../work/work-budget.ts'
import { readHeldMachines } from '../rollout/held-machines.ts'
import {
  createTally,
  isUnusable,
  classifyBehind,
  type CountDeps,
  type MachineCounts,
  type Report,
} from './count-machines.ts'
import {
  createRememberedCounts,
  type RememberedCountDeps,
  type RememberedCounts,
} from './remembered-counts.ts'

/** `GET /api/v1/orgs/:org/revisions/:revision` */
export function revisionRoute({
  store,
  views,
  budget,
  now,
  monotonicMs,
}: Omit<RevisionStatusDeps, 'turns' | 'counts'> & Pick<RememberedCountDeps, 'monotonicMs'>): Route {
  const turns = createAnswerTurns()
  const counts = createRememberedCounts<CountedRevision>({ monotonicMs })
  const deps: RevisionStatusDeps = { store, views, budget, now, turns, counts }
  return defineRoute(
    {
      method: 'GET',
      path: '/api/v1/orgs/:org/revisions/:revision',
      operationId: 'getRevisionStatus',
      tags: ['devices'],
      summary: 'Count the devices that enforce a revision, reject it, or have not reported on it',
      permission: 'policies:read',
      lookUp: (_reader, { revision }, { access }) =>
        requireRevision(revision, access.organization.revision),
      answers: { 200: revisionStatusSchema },
      errors: [429],
    },
    async ({ caller, params: { org, revision } }) =>
      readRevisionStatus(deps, caller, org, revision),
  )
}

/** The number in a path. Throws 404 for no revision that the organization has had. */
function requireRevision(text: string, current: number): number {
  const revision = /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : Infinity
  if (revision > current) throw notFound('revision not found')
  return revision
}

interface RevisionStatusDeps extends CountDeps {
  readonly budget: WorkBudget
  readonly counts: RememberedCounts<CountedRevision>
  /** One count of an organization at a time. */
  readonly turns: AnswerTurns
}

type CountedRevision = MachineCounts & Pick<RevisionStatus, 'counted_at' | 'held_back'>

/** How far a revision has come. Throws ApiError, 429 among others. */
async function readRevisionStatus(
  deps: RevisionStatusDeps,
  caller: Caller,
  org: string,
  wanted: string,
): Promise<RevisionStatus> {
  const { revision, current, isHeldBack, payer } = await deps.store.read(async (reader) => {
    const access = await authorize(reader, caller, org, 'policies:read')
    const { organization } = access
    return {
      revision: requireRevision(wanted, organization.revision),
      current: organization.revision,
      isHeldBack: await readHeldMachines(reader, org),
      payer: payerOf(caller, access),
    }
  })
  const count = async (): Promise<CountedRevision> => {
    const tally = createTally()
    let held_back = 0
    const counted_at = deps.now().toISOString()
    const { turn } = deps.budget.begin(payer)
    const question = { org, revision, isRefusal }
    for await (const { machines, applied } of classifyBehind(deps, question, turn)) {
      tally.addApplied(applied)
      for (const machine of machines) {
        tally.add(machine)
        const isWaiting = machine.applyState === 'pending' || machine.applyState === 'silent'
        if (isWaiting && isHeldBack?.(machine) === true) held_back += 1
      }
    }
    return { counted_at, ...tally.result(), ...(isHeldBack === null ? {} : { held_back }) }
  }
  // A rollout that reaches more, or ends, makes another revision the current one.
  const key = JSON.stringify([org, revision, current, isHeldBack === null])
  const counted =
    deps.counts.find(key) ??
    (await deps.turns.run(org, () => deps.counts.take(key, count), payer.caller))
  return { revision, current_revision: current, ...counted }
}

function isRefusal(report: Report): boolean {
  return report.error_code !== null || isUnusable(report)
}
