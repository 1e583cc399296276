import { agentSocketPath, ClientError, socketDirectoryProblem } from '@palisade/client'
import { dirname } from 'node:path'
import { CliError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { systemCode } from '../system-error.ts'
import { adviseStart, dataDirectory } from './start-advice.ts'

/** Error codes of a connection to a socket without a listener. */
const NOT_RUNNING: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED'])

/**
 * Calls `ask` with the socket of the agent of this run's data directory. If it is not running,
 * throws an error with `exitCode` that says how to start it; `instead` adds an alternative.
 */
export async function reachAgent<T>(
  io: Pick<Io, 'env' | 'cwd'>,
  exitCode: number,
  ask: (socketPath: string) => Promise<T>,
  instead = '',
): Promise<T> {
  const socketPath = agentSocketPath(dataDirectory(io), io.env)
  const problem = await directoryProblem(dirname(socketPath))
  if (problem !== null)
    throw new CliError('ERR_AGENT', exitCode, `not asking the agent: ${problem}`)
  try {
    return await ask(socketPath)
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    const message = NOT_RUNNING.has(systemCode(error.cause))
      ? `${error.message}; ${await adviseStart(io)}${instead}`
      : error.message
    throw new CliError('ERR_AGENT', exitCode, message, { cause: error })
  }
}

/** Null also for a missing directory, which holds no socket. */
async function directoryProblem(directory: string): Promise<string | null> {
  try {
    return await socketDirectoryProblem(directory)
  } catch (error) {
    if (systemCode(error) === '') throw error
    return null
  }
}
