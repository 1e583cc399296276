import type { RevisionStatus } from '@palisade/protocol'
import { authorize } from '../../identity/authorize.ts'
import { payerOf } from '../../identity/payer.ts'
import type { Caller } from '../../identity/principal.ts'
import type { AnswerTurns } from '../../work/answer-turns.ts'
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
import type { RememberedCounts } from './remembered-counts.ts'

/** The number in a path. Throws 404 for no revision that the organization has had. */
export function requireRevision(text: string, current: number): number {
  const revision = /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : Infinity
  if (revision > current) throw notFound('revision not found')
  return revision
}

export interface RevisionStatusDeps extends CountDeps {
  readonly budget: WorkBudget
  readonly counts: RememberedCounts<CountedRevision>
  /** One count of an organization at a time. */
  readonly turns: AnswerTurns
}

export type CountedRevision = MachineCounts & Pick<RevisionStatus, 'counted_at' | 'held_back'>

/** How far a revision has come. Throws ApiError, 429 among others. */
export async function readRevisionStatus(
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
