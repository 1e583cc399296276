import { ClientError, type OrganizationClient } from '@palisade/client'
import type { RunContext } from '../../runtime/run-context.ts'
import { write } from '../../runtime/write.ts'
import { isOpen } from './find-rollout.ts'
import { describeOpenRollout } from './format-rollout.ts'

/**
 * Warns after a policy change that an open rollout excludes some machines from it. Writes to
 * stderr, which is visible beside JSON output, too.
 */
export async function warnOfRollout(
  { io, style }: RunContext,
  { rollouts }: Pick<OrganizationClient, 'rollouts'>,
): Promise<void> {
  try {
    const open = (await rollouts.newest()).find(isOpen)
    if (open !== undefined) await write(io.stderr, `${style.warning(describeOpenRollout(open))}\n`)
  } catch (error) {
    // The change has been made, even if the caller may not or cannot list rollouts.
    if (!(error instanceof ClientError)) throw error
  }
}
