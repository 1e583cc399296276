import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes the directory, and those above it that are missing, for the owner alone (mode 0700); one
 * that is there stays as it is. `path` is absolute. Throws the system's error.
 *
 * Not `mkdir` with `recursive`: where the system answers ENOENT although the parent is there, as
 * in /proc, Node 24 tries again for ever.
 */
export function ensurePrivateDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return
  const parent = dirname(path)
  if (parent !== path) ensurePrivateDirectory(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Somebody else may have made it meanwhile.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}
