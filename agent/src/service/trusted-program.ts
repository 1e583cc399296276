import { lstat, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemErrorCode } from '../host/errors.ts'

/** The part of a file's status that tells who can change it. */
export interface Owned {
  readonly uid: number
  readonly mode: number
}

const WRITABLE_BY_OTHERS = 0o022

/**
 * Says why root must not run the program at `path`, or returns null: another user owns it or a
 * directory above it, or can write there, and so could replace it. Rejects with the system's error.
 */
export async function findDistrust(
  path: string,
  statusOf: (path: string) => Promise<Owned> = lstat,
): Promise<string | null> {
  const real = await realpath(path)
  for (let each = real; ; each = dirname(each)) {
    const { uid, mode } = await statusOf(each)
    if (uid !== 0) return `\`${each}\` belongs to another user than root`
    if ((mode & WRITABLE_BY_OTHERS) !== 0) return `other users can write to \`${each}\``
    if (each === '/') return null
  }
}

/**
 * The command with the real path of each program. A link may lie where another user can turn it,
 * and root would follow it at each start. A missing program is left for `findDistrust` to find.
 */
export function pinPrograms(command: readonly string[]): Promise<string[]> {
  return Promise.all(command.map(async (word) => (word.startsWith('/') ? pin(word) : word)))
}

async function pin(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return path
    throw error
  }
}
