import type { Database } from 'better-sqlite3'
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { ensurePrivateDirectory } from '../../platform/private-directory.ts'
import {
  openDatabase,
  requireSame,
  verifyDatabase,
  type VerifiedDatabase,
} from './verify-database.ts'

/** Between steps a signal is heard and progress told. */
const PAGES_IN_A_STEP = 1_000

/** Hears how much of the copying is done, from 0 to 1. */
export type OnProgress = (done: number) => void

/**
 * Copies one snapshot of the database into a new file (mode 0600) that needs no other file beside
 * it, and finds both in order and the same. On disk when it resolves; gone when it throws.
 * Others may read and write the source meanwhile.
 */
export async function copyDatabase(
  source: Database,
  target: string,
  onProgress: OnProgress,
): Promise<VerifiedDatabase> {
  // An open snapshot keeps writers of other processes from making SQLite start over and over.
  source.exec('BEGIN')
  const original = verifyDatabase(source, source.name)
  // Only now, so that a refused copy creates no directory.
  ensurePrivateDirectory(dirname(target))
  closeSync(openSync(target, 'wx', 0o600))
  try {
    await source.backup(target, {
      progress({ totalPages, remainingPages }) {
        onProgress(1 - remainingPages / Math.max(totalPages, 1))
        return PAGES_IN_A_STEP
      },
    })
    source.exec('COMMIT')
    requireSame(original, settle(target), target)
    syncFile(target)
    return original
  } catch (error) {
    for (const suffix of ['', '-journal', '-wal', '-shm'])
      rmSync(`${target}${suffix}`, { force: true })
    throw error
  }
}

/** Waits until the file, or the names in a directory, are on disk. */
export function syncFile(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * The copy says of itself that it has a write-ahead log, as the source has; that is left behind.
 */
function settle(path: string): VerifiedDatabase {
  const copy = openDatabase(path, { readonly: false })
  try {
    copy.pragma('journal_mode = DELETE')
    return verifyDatabase(copy, path)
  } finally {
    copy.close()
  }
}
