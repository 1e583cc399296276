import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { AgentError, systemErrorCode } from '../errors.ts'

/**
 * Fixed, because a `PATH` from the environment could name a program that inherits our descriptor.
 */
const PATH = '/usr/local/bin:/usr/bin:/bin'
const IN_USE = 1

export interface DirectoryLock {
  /** False if the machine has no `flock` command, or the file system no locks. */
  readonly isHeld: boolean
  release(): void
}

/**
 * Locks the directory against a second agent, whichever socket it listens on. Node has no call for
 * flock(2). flock(1) locks the descriptor that it inherits, and the lock stays with our descriptor
 * after the command exits. The kernel releases it when this process ends in any way.
 *
 * Throws `ERR_LOCKED` when another agent holds the lock.
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  // A number, because a FileHandle is closed when it is garbage-collected.
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

/** Returns the exit code; null without a `flock` command. */
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
