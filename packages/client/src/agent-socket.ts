import { lstat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** `sun_path` holds 108 bytes on Linux and 104 elsewhere, including the closing NUL. */
const MAX_SOCKET_PATH_BYTES = 100

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
  // Loaded only here: it takes as long as the rest of a hook (bench: agent/client).
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
