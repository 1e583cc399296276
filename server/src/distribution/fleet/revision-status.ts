import type { RevisionStatus } from '@palisade/protocol'
import { authorize } from '../../accounts/authorize.ts'
import type { Caller } from '../../accounts/principal.ts'
import { notFound } from '../../http/api-error.ts'
import { readHold } from '../rollout/hold.ts'
import {
  createTally,
  isUnusable,
  judgeMachines,
  type CountDeps,
  type Report,
} from './count-machines.ts'

/** The number in a path. Throws 404 for no revision that the organization has had. */
export function requireRevision(text: string, current: number): number {
  const revision = /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : Infinity
  if (revision > current) throw notFound('revision not found')
  return revision
}

/** How far a revision has come. Throws ApiError. */
export async function readRevisionStatus(
  deps: CountDeps,
  caller: Caller,
  org: string,
  wanted: string,
): Promise<RevisionStatus> {
  const { revision, current, isHeldBack } = await deps.store.read(async (reader) => {
    const { organization } = await authorize(reader, caller, org, 'policies:read')
    return {
      revision: requireRevision(wanted, organization.revision),
      current: organization.revision,
      isHeldBack: await readHold(reader, org),
    }
  })
  const tally = createTally()
  let held_back = 0
  for await (const machines of judgeMachines(deps, { org, revision, isRefusal }))
    for (const machine of machines) {
      tally.add(machine)
      const isWaiting = machine.fate === 'pending' || machine.fate === 'silent'
      if (isWaiting && isHeldBack?.(machine) === true) held_back += 1
    }
  const held = isHeldBack === null ? {} : { held_back }
  return { revision, current_revision: current, ...tally.result(), ...held }
}

function isRefusal(report: Report): boolean {
  return report.error_code !== null || isUnusable(report)
}
