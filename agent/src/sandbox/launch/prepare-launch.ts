import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Holder } from '../holder/start-holder.ts'
import { removeListedCgroups } from '../limits/sandbox-cgroups.ts'
import { createLaunchDirectory, type LaunchDirectory } from './launch-directory.ts'
import { LAUNCH_FILES } from './trampoline.ts'

const END_TIMEOUT_MS = 10_000

/** The parts of a sandbox that are made before its request is known. */
export interface PreparedLaunch {
  readonly id: string
  readonly holder: Holder
  readonly directory: LaunchDirectory
  /** Ends the namespaces and removes the directory. Idempotent. */
  discard(): Promise<void>
}

/**
 * Starts a holder and makes its directory, below `directory`. Rejects with `HolderError`, or with
 * the error of the system.
 */
export async function prepareLaunch(deps: {
  readonly directory: string
  /** Short, of a-z and 0-9, and new for each call. */
  readonly createId: () => string
  readonly startHolder: () => Promise<Holder>
}): Promise<PreparedLaunch> {
  const id = deps.createId()
  const directory = await createLaunchDirectory(join(deps.directory, id))
  try {
    const holder = await deps.startHolder()
    const discard = async (): Promise<void> => {
      holder.end()
      // A process that cannot be ended, such as one in a hung disk, must not stop the agent.
      await Promise.race([holder.ended, pause(END_TIMEOUT_MS, undefined, { ref: false })])
      // The list of groups that are left is for the next start of the agent.
      if (await removeListedCgroups(join(directory.path, LAUNCH_FILES.cgroups)))
        await directory.remove()
    }
    return { id, holder, directory, discard }
  } catch (error) {
    await directory.remove()
    throw error
  }
}
