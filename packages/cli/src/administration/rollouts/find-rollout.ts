import type { RolloutsClient } from '@palisade/client'
import type { Rollout } from '@palisade/protocol'
import { CliError } from '../../runtime/cli-error.ts'
import { EXIT } from '../../runtime/exit-code.ts'

/** Finds the rollout that has not ended; throws exit 1 without one. */
export async function findOpenRollout(rollouts: RolloutsClient): Promise<Rollout> {
  const open = (await rollouts.newest()).find(isOpen)
  if (open !== undefined) return open
  throw new CliError(
    'ERR_NOT_FOUND',
    EXIT.failed,
    'there is no open rollout; write `palisade rollout start --stage LABEL --stage 100%`',
  )
}

export function isOpen({ ended_at }: Rollout): boolean {
  return ended_at === null
}
