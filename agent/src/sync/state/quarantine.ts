import { chmod, lstat, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { systemErrorCode } from '../../errors.ts'

const INFIX = '.rejected-'
/** So many of one name are left for whoever wants to know what happened. */
const MAX_REJECTED = 4

/**
 * Moves what cannot be used out of the way, beside it; answers where it is now, which is where it
 * was when it cannot be moved. Of those moved earlier the oldest are removed.
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
 * At a start: moves a directory aside that others may have written to, or something else in its
 * place, and closes one that others may read. Null where the directory can be used or is not there.
 * The next write makes it anew.
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
    if (found.isSymbolicLink()) return 'was a symbolic link, and what it led to is not believed'
    if (!found.isDirectory()) return 'was no directory'
    const user = process.geteuid?.()
    if (user !== undefined && found.uid !== user) return 'belonged to another user'
    if ((found.mode & 0o022) !== 0) return 'was open to the writes of other users'
    if ((found.mode & 0o077) !== 0) await chmod(directory, 0o700)
    return null
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return null
    return 'could not be looked at'
  }
}

async function removeOldest(path: string): Promise<void> {
  const parent = dirname(path)
  const prefix = `${basename(path)}${INFIX}`
  // Stamps sort as times do.
  const names = (await readdir(parent)).filter((name) => name.startsWith(prefix)).toSorted()
  // They take room and do no harm, so one that stays is no reason not to start.
  for (const name of names.slice(0, -MAX_REJECTED))
    await rm(join(parent, name), { recursive: true }).catch(() => {})
}
