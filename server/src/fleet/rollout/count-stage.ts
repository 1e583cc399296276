import { CODES_WITHOUT_POLICY, type RolloutMachines } from '@palisade/protocol'
import type { RolloutRecord } from '../../store/distribution-records.ts'
import {
  createTally,
  isUnusable,
  classifyMachines,
  type CountDeps,
  type Report,
  type Turn,
} from '../machines/count-machines.ts'
import { readHeldMachines } from './held-machines.ts'

const WITHOUT_POLICY: ReadonlySet<string> = new Set(CODES_WITHOUT_POLICY)

export interface CountedStage {
  /** The revision of the organization when the counting began. */
  readonly revision: number
  /** `Date.toISOString` */
  readonly counted_at: string
  readonly machines: RolloutMachines
}

/**
 * Counts how the machines within the reached stages fare with the current policies. Only a report
 * made since the rollout runs counts as a refusal, and only an error of the policy: a machine that
 * could not reach a server has not evaluated it. A machine that was enrolled and not heard of since
 * is left out: keys without machines would hold a rollout up.
 */
export async function countStage(
  deps: CountDeps,
  { org, counted_from }: Pick<RolloutRecord, 'org' | 'counted_from'>,
  turn: Turn,
): Promise<CountedStage> {
  const counted_at = deps.now().toISOString()
  const { revision, isHeldBack } = await deps.store.read(async (reader) => ({
    revision: (await reader.organizations.find(org))?.revision ?? 0,
    isHeldBack: await readHeldMachines(reader, org),
  }))
  const isRefusal = (report: Report): boolean =>
    report.reported_at >= counted_from && refusesPolicy(report)
  const tally = createTally()
  let held_back = 0
  let never_seen = 0
  for await (const machines of classifyMachines(deps, { org, revision, isRefusal }, turn))
    for (const machine of machines)
      if (isHeldBack?.(machine) === true) held_back += 1
      else if (machine.isUnheard) never_seen += 1
      else tally.add(machine)
  return { revision, counted_at, machines: { ...tally.result(), held_back, never_seen } }
}

function refusesPolicy(report: Report): boolean {
  const { state, error_code } = report
  if (state === 'rejected' || isUnusable(report)) return true
  return error_code !== null && !WITHOUT_POLICY.has(error_code)
}
