import { lstat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ClientError } from './client-error.ts'

/** `sun_path` holds 108 bytes on Linux and 104 elsewhere, including the closing NUL. */
const MAX_SOCKET_PATH_BYTES = 100
const MAX_PORT = 65_535

/** Where the agent listens: a Unix socket, or in a sandbox a port of the sandbox's loopback. */
export type AgentAddress = { readonly socketPath: string } | { readonly port: number }

/**
 * The port that `PALISADE_AGENT_URL` names, as it is set in a sandbox. Null without the variable.
 * Another value than `http://127.0.0.1:PORT` is refused: answers must come from the agent.
 *
 * Throws `ClientError` with `ERR_ARGUMENT_INVALID`.
 */
export function agentPort(env: Readonly<Record<string, string | undefined>>): number | null {
  const url = env['PALISADE_AGENT_URL'] ?? ''
  if (url === '') return null
  const port = Number(/^http:\/\/127\.0\.0\.1:([1-9]\d{0,4})\/?$/.exec(url)?.[1] ?? 0)
  if (port > 0 && port <= MAX_PORT) return port
  throw new ClientError(
    'ERR_ARGUMENT_INVALID',
    `PALISADE_AGENT_URL is \`${url}\`; leave it as the sandbox sets it, or unset it`,
  )
}

/**
 * The socket path of the agent of a data directory, for the agent and its callers:
 * `PALISADE_AGENT_SOCKET` if set, else `<dataDir>/agent/agent.sock`. If that is longer than 100
 * bytes, a path below the system's temporary directory that is derived from the data directory. The
 * directory of the socket belongs to the user alone; see `socketDirectoryProblem`.
 *
 * Relative paths are taken from the working directory. Pure: creates nothing.
 */
export function agentSocketPath(
  dataDir: string,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const explicit = env['PALISADE_AGENT_SOCKET']
  if (explicit !== undefined && explicit !== '') return resolve(explicit)
  const root = resolve(dataDir)
  const direct = join(root, 'agent', 'agent.sock')
  if (Buffer.byteLength(direct) <= MAX_SOCKET_PATH_BYTES) return direct
  // Loaded only here: it takes as long as the rest of a hook (bench: sandbox/client).
  const { createHash } = process.getBuiltinModule('node:crypto')
  const digest = createHash('sha256').update(root).digest('hex').slice(0, 32)
  return join(tmpdir(), `palisade-${digest}`, 'agent.sock')
}

/**
 * Says why `directory` must not hold the agent's socket, or returns null. It must be a real
 * directory, owned by this user and closed to all others. Another user may have created a directory
 * with a guessable name below the temporary directory, and answers from there must never pass for
 * the agent's.
 *
 * Rejects with the system's error when the directory cannot be read (`ENOENT`).
 */
export async function socketDirectoryProblem(directory: string): Promise<string | null> {
  const found = await lstat(directory)
  if (!found.isDirectory()) return `\`${directory}\` is not a directory`
  const user = process.getuid?.()
  if (user !== undefined && found.uid !== user) return `\`${directory}\` belongs to another user`
  if ((found.mode & 0o077) !== 0)
    return (
      `\`${directory}\` is open to other users; ` +
      `give the socket a directory of its own with mode 700`
    )
  return null
}

/**
 * Says why `directory` must not hold a socket that the user `owner` serves to others, or returns
 * null. Others may enter it, but only its owner may put a socket there.
 *
 * Rejects with the system's error when the directory cannot be read (`ENOENT`).
 */
export async function sharedDirectoryProblem(
  directory: string,
  owner: number,
): Promise<string | null> {
  const found = await lstat(directory)
  if (!found.isDirectory()) return `\`${directory}\` is not a directory`
  if (found.uid !== owner) return `\`${directory}\` belongs to another user`
  if ((found.mode & 0o022) === 0) return null
  return `other users can write to \`${directory}\`; give it mode 755`
}

/**
 * Says why a caller must not trust an agent's socket in `directory`, or returns null. Besides the
 * user's own directory one of root counts: only the administrator can make a socket there.
 *
 * Rejects with the system's error when the directory cannot be read (`ENOENT`).
 */
export async function untrustedSocketProblem(directory: string): Promise<string | null> {
  const problem = await socketDirectoryProblem(directory)
  if (problem === null || (await sharedDirectoryProblem(directory, 0)) === null) return null
  return problem
}
