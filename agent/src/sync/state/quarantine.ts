import { chmod, lstat, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { systemErrorCode } from '../../host/errors.ts'

const INFIX = '.rejected-'
/** How many files of one name are kept for diagnosis. */
const MAX_REJECTED = 4

/**
 * Renames an unusable file or directory, and removes the oldest of those renamed earlier. Returns
 * the new path, or the old one if the rename fails.
 */
export async function quarantine(path: string, nowMs: number): Promise<string> {
  const stamp = new Date(nowMs).toISOString().replaceAll(/[:.]/g, '-')
  const target = `${path}${INFIX}${stamp}`
  try {
    await rename(path, target)
  } catch {
    return path
  }
  await removeOldest(path)
  return target
}

/**
 * Call at start. Renames a directory that others may write to, or another kind of file in its
 * place, and closes a directory that others may read. Returns null if the directory is usable or
 * missing. The next write creates it again.
 */
export async function quarantineUnsafeDirectory(
  directory: string,
  nowMs: number,
): Promise<{ readonly file: string; readonly message: string } | null> {
  const problem = await directoryProblem(directory)
  if (problem === null) return null
  return { file: await quarantine(directory, nowMs), message: `\`${directory}\` ${problem}` }
}

async function directoryProblem(directory: string): Promise<string | null> {
  try {
    const found = await lstat(directory)
    if (found.isSymbolicLink()) return 'was a symbolic link, whose target is not trusted'
    if (!found.isDirectory()) return 'was not a directory'
    const user = process.geteuid?.()
    if (user !== undefined && found.uid !== user) return 'belonged to another user'
    if ((found.mode & 0o022) !== 0) return 'was writable by other users'
    if ((found.mode & 0o077) !== 0) await chmod(directory, 0o700)
    return null
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return null
    return 'could not be inspected'
  }
}

async function removeOldest(path: string): Promise<void> {
  const parent = dirname(path)
  const prefix = `${basename(path)}${INFIX}`
  // Stamps sort like times.
  const names = (await readdir(parent)).filter((name) => name.startsWith(prefix)).toSorted()
  // They only take space, so a failed removal does not prevent a start.
  for (const name of names.slice(0, -MAX_REJECTED))
    await rm(join(parent, name), { recursive: true }).catch(() => {})
}
