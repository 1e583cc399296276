import { ClientError, type OrganizationClient } from '@palisade/client'
import type { RunContext } from '../run-context.ts'
import { write } from '../terminal/write.ts'
import { isOpen } from './find-rollout.ts'
import { describeHold } from './format-rollout.ts'

/**
 * After a change of policies: says that some machines do not get it yet. On the error stream, so
 * that it is seen beside JSON, too.
 */
export async function warnOfRollout(
  { io, style }: RunContext,
  { rollouts }: Pick<OrganizationClient, 'rollouts'>,
): Promise<void> {
  try {
    const open = (await rollouts.newest()).find(isOpen)
    if (open !== undefined) await write(io.stderr, `${style.warning(describeHold(open))}\n`)
  } catch (error) {
    // What was changed is changed, also where nothing else may be asked, or can be.
    if (!(error instanceof ClientError)) throw error
  }
}
