import { sharedDirectoryProblem, socketDirectoryProblem } from '@palisade/client'
import { once } from 'node:events'
import { lstat, mkdir, unlink } from 'node:fs/promises'
import { connect, type Server } from 'node:net'
import { dirname } from 'node:path'
import { AgentError, systemErrorCode } from '../host/errors.ts'

/** Who can open the socket: the user of the agent, or every user of the machine. */
export type SocketUsers = 'own' | 'all'

/**
 * Makes sure that no running agent listens on `path`, and removes the socket of a dead one. Creates
 * the directory if it is missing.
 *
 * Throws `ERR_LOCKED` when another agent answers there, otherwise `ERR_SOCKET`.
 */
export async function claimSocket(path: string, users: SocketUsers = 'own'): Promise<void> {
  try {
    const directory = dirname(path)
    await mkdir(directory, { recursive: true, mode: users === 'all' ? 0o755 : 0o700 })
    const problem =
      users === 'all'
        ? await sharedDirectoryProblem(directory, process.getuid?.() ?? 0)
        : await socketDirectoryProblem(directory)
    if (problem !== null) throw new AgentError('ERR_SOCKET', [problem])
    await removeDeadSocket(path)
  } catch (error) {
    if (error instanceof AgentError) throw error
    throw refusal(path, error)
  }
}

/**
 * Makes `server` listen on a Unix socket that only its users can open, from its creation on.
 * Replaces no file: if two agents claimed the path at the same time, one fails here.
 *
 * Throws `ERR_LOCKED` when another agent answers there, otherwise `ERR_SOCKET`.
 */
export async function listenOnSocket(
  server: Server,
  path: string,
  users: SocketUsers = 'own',
): Promise<void> {
  // bind(2) happens within listen(), so the socket never exists with a wider mode.
  const before = process.umask(users === 'all' ? 0o111 : 0o177)
  try {
    server.listen(path)
  } finally {
    process.umask(before)
  }
  try {
    await once(server, 'listening')
  } catch (error) {
    throw refusal(path, error)
  }
}

async function removeDeadSocket(path: string): Promise<void> {
  const found = await lstat(path).catch((error: unknown) => {
    if (systemErrorCode(error) === 'ENOENT') return null
    throw error
  })
  if (found === null) return
  if (!found.isSocket())
    throw new AgentError('ERR_SOCKET', [`\`${path}\` is not a socket; move it away`])
  if (await isAnswered(path)) throw alreadyRunning(path)
  await unlink(path)
}

async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    if (systemErrorCode(error) === 'ECONNREFUSED') return false
    throw error
  } finally {
    socket.destroy()
  }
}

function refusal(path: string, error: unknown): AgentError {
  const code = systemErrorCode(error)
  if (code === 'EADDRINUSE') return alreadyRunning(path, error)
  const reason = code === 'EINVAL' || code === 'ENAMETOOLONG' ? 'the path is too long' : code
  const correction = 'set PALISADE_AGENT_SOCKET to another path'
  const message = `cannot listen on \`${path}\` (${reason}); ${correction}`
  return new AgentError('ERR_SOCKET', [message], error)
}

function alreadyRunning(path: string, cause?: unknown): AgentError {
  const message = `an agent is already running on \`${path}\`; stop it or set PALISADE_DATA_DIR`
  return new AgentError('ERR_LOCKED', [message], cause)
}
