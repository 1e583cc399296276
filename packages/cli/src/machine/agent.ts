import {
  agentSocketPath,
  ClientError,
  createAgentClient,
  socketDirectoryProblem,
  type AgentClient,
} from '@palisade/client'
import { dirname } from 'node:path'
import { CliError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { systemCode } from '../system-error.ts'
import { adviseStart, dataDirectory } from './start-advice.ts'

/** Codes of a connection to a socket on which no process listens. */
const NOT_RUNNING: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED'])

/**
 * Asks the agent that works on the data directory of this run. When it does not run, throws one
 * line with `exitCode` that says how to start it, and `instead`: another way to the answer.
 */
export async function askAgent<T>(
  io: Pick<Io, 'env' | 'cwd'>,
  exitCode: number,
  ask: (agent: AgentClient) => Promise<T>,
  instead = '',
): Promise<T> {
  const socketPath = agentSocketPath(dataDirectory(io), io.env)
  const problem = await directoryProblem(dirname(socketPath))
  if (problem !== null)
    throw new CliError('ERR_AGENT', exitCode, `not asking the agent: ${problem}`)
  try {
    return await ask(createAgentClient({ socketPath }))
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    const message = NOT_RUNNING.has(systemCode(error.cause))
      ? `${error.message}; ${await adviseStart(io)}${instead}`
      : error.message
    throw new CliError('ERR_AGENT', exitCode, message, { cause: error })
  }
}

/** Null also when there is no directory: then nobody listens in it. */
async function directoryProblem(directory: string): Promise<string | null> {
  try {
    return await socketDirectoryProblem(directory)
  } catch (error) {
    if (systemCode(error) === '') throw error
    return null
  }
}
