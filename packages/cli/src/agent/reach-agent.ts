import {
  agentPort,
  agentSocketPath,
  ClientError,
  untrustedSocketProblem,
  type AgentAddress,
} from '@palisade/client'
import { dirname } from 'node:path'
import { CliError } from '../runtime/cli-error.ts'
import type { AgentIo, Io } from '../runtime/io.ts'
import { describeSystemError, systemCode } from '../runtime/system-error.ts'
import { adviseStart, dataDirectory } from './start-advice.ts'

/** Error codes of a connection to a socket without a listener. */
const NOT_RUNNING: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED'])

/** Any user of the machine may listen on a port of its loopback. */
const CLAIMED = 'PALISADE_AGENT_URL is set, but this is no sandbox; unset it'

/**
 * Calls `ask` with the address of the agent: in a sandbox the one that the sandbox names, elsewhere
 * the socket of this run's data directory. If it is not running, throws an error with `exitCode`
 * that says how to start it; `instead` adds an alternative.
 */
export async function reachAgent<T>(
  io: AgentIo,
  exitCode: number,
  ask: (address: AgentAddress) => Promise<T>,
  instead = '',
): Promise<T> {
  let isInside = false
  try {
    const port = agentPort(io.env)
    isInside = port !== null
    if (isInside && !io.isInSandbox()) throw new CliError('ERR_AGENT', exitCode, CLAIMED)
    return await ask(port === null ? { socketPath: await findSocket(io, exitCode) } : { port })
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    const isAdvised = !isInside && NOT_RUNNING.has(systemCode(error.cause))
    const message = isAdvised
      ? `${error.message}; ${await adviseStart(io)}${instead}`
      : error.message
    throw new CliError('ERR_AGENT', exitCode, message, { cause: error })
  }
}

/**
 * Throws `CliError` for a socket that must not be asked. One whose directory cannot be read is not
 * asked either: another user may make the directory between this check and a connection.
 */
async function findSocket(io: Pick<Io, 'env' | 'cwd'>, exitCode: number): Promise<string> {
  const socketPath = agentSocketPath(dataDirectory(io), io.env)
  const problem = await directoryProblem(socketPath)
  if (problem === null) return socketPath
  throw new CliError('ERR_AGENT', exitCode, `not asking the agent: ${problem}`)
}

/** Throws `ClientError` for a directory that is missing or cannot be read. */
async function directoryProblem(socketPath: string): Promise<string | null> {
  try {
    return await untrustedSocketProblem(dirname(socketPath))
  } catch (cause) {
    const code = systemCode(cause)
    if (code === '') throw cause
    const why = NOT_RUNNING.has(code) ? 'it is not running' : describeSystemError(cause)
    const message = `cannot reach the agent at \`${socketPath}\`: ${why}`
    throw new ClientError('ERR_AGENT_UNREACHABLE', message, { cause })
  }
}
