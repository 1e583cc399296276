import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { AgentError, systemErrorCode } from '../errors.ts'

/** Not what the environment names: whoever sets that must not get a descriptor of ours. */
const PATH = '/usr/local/bin:/usr/bin:/bin'
const IN_USE = 1

export interface DirectoryLock {
  /** False where this machine has no `flock`, or the file system no locks. */
  readonly isHeld: boolean
  release(): void
}

/**
 * Keeps a second agent off the directory, whatever socket it listens on. Node has no call for
 * flock(2); flock(1) locks the descriptor that it is given, and the lock stays with that descriptor
 * here when the command has ended. The kernel lets go of it however this process ends.
 *
 * Throws `ERR_LOCKED` when another agent holds it.
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  // A number, not a FileHandle, which is closed when it is collected.
  const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY)
  const status = await flock(descriptor)
  if (status === IN_USE) {
    closeSync(descriptor)
    throw new AgentError('ERR_LOCKED', [
      `an agent is already running on \`${directory}\`; stop it or set PALISADE_DATA_DIR`,
    ])
  }
  return { isHeld: status === 0, release: () => closeSync(descriptor) }
}

/** The exit code; null where there is no such command. */
async function flock(descriptor: number): Promise<number | null> {
  const child = spawn('flock', ['-n', '-x', '3'], {
    env: { PATH },
    stdio: ['ignore', 'ignore', 'ignore', descriptor],
  })
  try {
    const [code]: (number | null)[] = await once(child, 'exit')
    return code ?? null
  } catch (error) {
    if (systemErrorCode(error) === null) throw error
    return null
  }
}
