import { createHash } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** `sun_path` holds 108 bytes on Linux and 104 elsewhere, its closing NUL included. */
const MAX_SOCKET_PATH_BYTES = 100

/**
 * Where the agent of a data directory listens, for the agent and for those who ask it:
 * `PALISADE_AGENT_SOCKET` when set, else `<dataDir>/agent/agent.sock`, else – when that is longer
 * than 100 bytes – a path below the system's temporary directory that is derived from the data
 * directory. The directory of the socket belongs to the user alone; see `socketDirectoryProblem`.
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
  const digest = createHash('sha256').update(root).digest('hex').slice(0, 32)
  return join(tmpdir(), `palisade-${digest}`, 'agent.sock')
}

/**
 * Why `directory` must not hold the agent's socket, or null when it may: a real directory, owned
 * by this user, closed to everybody else. A directory of a guessable name below the temporary
 * directory may have been made by another user, whose answers must never pass for the agent's.
 *
 * Rejects with the system's error when the directory cannot be looked at (`ENOENT`).
 */
export async function socketDirectoryProblem(directory: string): Promise<string | null> {
  const found = await lstat(directory)
  if (!found.isDirectory()) return `\`${directory}\` is not a directory`
  const user = process.getuid?.()
  if (user !== undefined && found.uid !== user) return `\`${directory}\` belongs to another user`
  if ((found.mode & 0o077) !== 0)
    return `\`${directory}\` is open to other users; give the socket a directory of its own with mode 700`
  return null
}
