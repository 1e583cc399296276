import {
  agentSocketPath,
  ClientError,
  createAgentClient,
  socketDirectoryProblem,
  type AgentClient,
} from '@palisade/client'
import { dirname, resolve } from 'node:path'
import { CliError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { systemCode } from '../system-error.ts'

/**
 * Asks the agent that works on the data directory of this run. When it cannot be reached, throws
 * one line with `exitCode` that says how to start it.
 */
export async function askAgent<T>(
  io: Pick<Io, 'env' | 'cwd'>,
  exitCode: number,
  ask: (agent: AgentClient) => Promise<T>,
  advice = 'start it with `npm start`',
): Promise<T> {
  const dataDir = resolve(io.cwd, io.env['PALISADE_DATA_DIR'] || '.palisade')
  const socketPath = agentSocketPath(dataDir, io.env)
  const problem = await directoryProblem(dirname(socketPath))
  if (problem !== null)
    throw new CliError('ERR_AGENT', exitCode, `not asking the agent: ${problem}`)
  try {
    return await ask(createAgentClient({ socketPath }))
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    const message =
      error.code === 'ERR_AGENT_UNREACHABLE' ? `${error.message}; ${advice}` : error.message
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
