import Sqlite, { type Database } from 'better-sqlite3'
import { existsSync, linkSync, lstatSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { CommandFailure } from '../../platform/command-failure.ts'
import { createAuditedStore } from '../../history/audit/audited-store.ts'
import { describeFaults, verifyOrganization } from '../../history/verify-organization.ts'
import { requireReplaceable } from '../../platform/replaceable-file.ts'
import type { Migration } from '../../store/sql/dialect.ts'
import { MIGRATIONS } from '../../store/sql/migrations/migrations.ts'
import { openSqliteStore } from '../../store/sqlite/open-sqlite-store.ts'
import type { Store } from '../../store/store.ts'
import { endRestoredAccess, type EndedAccess } from './end-restored-access.ts'
import { copyDatabase, syncFile, type OnProgress } from './copy-database.ts'
import { raiseRevisions } from './raise-revisions.ts'
import { readSeal } from './seal.ts'
import { describeUnwritable } from './unwritable.ts'
import { openDatabase, verifyDatabase } from './verify-database.ts'

const FAULTS_SHOWN = 20

export interface RestoreRequest {
  /** Path of the backup. */
  readonly file: string
  /** Absolute path of the database to be. */
  readonly database: string
  /** Whether a database that is there is put aside. */
  readonly replace: boolean
  /** The SHA-256 that the file must have; null for any. */
  readonly sha256: string | null
  /** Whether faults of seal, history and state are told instead of refused. */
  readonly unverified: boolean
  /** Makes the names of the draft and of the database that is moved aside. */
  readonly suffix: string
  /** The time from which revisions are raised, as for `raiseRevisions`. */
  readonly nowMs: number
  readonly onProgress: OnProgress
}

export interface Restored {
  readonly database: string
  readonly rows: number
  /** Schema of the backup, and the one it was brought to. */
  readonly schema: { readonly from: number; readonly to: number }
  /** The path to which the old database was moved; null when there was no database. */
  readonly aside: string | null
  /** Grants and requests for access that the restore has ended. */
  readonly ended: EndedAccess
  /** Faults that `unverified` has accepted; empty otherwise. */
  readonly faults: readonly string[]
}

/**
 * Puts a checked copy of the backup in the place of the database. A CommandFailure means that the
 * old database is unchanged.
 */
export async function restore(
  request: RestoreRequest,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<Restored> {
  const { file, database, replace, suffix, onProgress } = request
  if (!replace && isAnythingThere(database))
    throw new CommandFailure(
      'refused',
      `there is a database at \`${database}\` already; use --force to move it aside`,
    )
  requireReplaceable(database)
  const backup = openDatabase(file, { readonly: true })
  const draft = `${database}.${suffix}`
  try {
    const faults = await checkSeal(request)
    const { schema, rows } = await copyDatabase(backup, draft, onProgress)
    const { ended, faults: others } = await bringUpToDate(draft, request, migrations)
    faults.push(...others)
    const aside = replaceDatabase(database, draft, `${database}.before-restore.${suffix}`)
    return { database, rows, schema: { from: schema, to: migrations.length }, aside, ended, faults }
  } catch (error) {
    throw describeUnwritable(database, error)
  } finally {
    backup.close()
    for (const end of ['', '-wal', '-shm']) rmSync(`${draft}${end}`, { force: true })
  }
}

/** Throws CommandFailure for a fault, or answers it where it is to be told. */
async function checkSeal({ file, sha256, unverified }: RestoreRequest): Promise<string[]> {
  const found = await readSeal(file)
  if (sha256 !== null && sha256 !== found.sha256)
    throw new CommandFailure(
      'refused',
      `\`${file}\` has the SHA-256 ${found.sha256}; it is damaged, or not the expected file`,
    )
  if (found.seal === 'whole' || (found.seal === 'absent' && sha256 !== null)) return []
  const fault =
    found.seal === 'damaged'
      ? `\`${file}\` is damaged: its content does not match its seal`
      : `\`${file}\` has no seal of \`backup\`, so damage cannot be detected`
  if (unverified) return [fault]
  const instead = found.seal === 'damaged' ? 'use another backup' : 'write `--sha256 HEX`'
  throw new CommandFailure(
    'refused',
    `${fault}; ${instead}, or \`--unverified\` to restore it anyway`,
  )
}

/** Checks history and state, and handles faults as `checkSeal` does. */
async function checkHistory(store: Store, request: RestoreRequest): Promise<string[]> {
  const faults = await store.read(async (reader) => {
    const found: string[] = []
    for (const org of await reader.organizations.names())
      found.push(...describeFaults(await verifyOrganization(reader, org, { state: true })))
    return found
  })
  if (faults.length === 0 || request.unverified) return faults
  const shown = faults.slice(0, FAULTS_SHOWN)
  const more = faults.length - shown.length
  throw new CommandFailure(
    'refused',
    [
      `\`${request.file}\` does not verify; use another backup, ` +
        'or `--unverified` to restore it anyway',
      ...shown,
      ...(more > 0 ? [`and ${more} more`] : []),
    ].join('\npalisade-server: '),
  )
}

/**
 * Migrates and verifies the copy, then raises its revisions and ends all access that was granted or
 * asked for. `faults` are those of `checkHistory`.
 */
async function bringUpToDate(
  draft: string,
  request: RestoreRequest,
  migrations: readonly Migration[],
): Promise<Pick<Restored, 'ended' | 'faults'>> {
  const { nowMs } = request
  const store = openSqliteStore(draft, 'create', migrations)
  let made: Pick<Restored, 'ended' | 'faults'>
  try {
    const faults = await checkHistory(store, request)
    const audited = createAuditedStore({ store, now: () => new Date(nowMs) })
    await raiseRevisions(audited, nowMs)
    made = { faults, ended: await endRestoredAccess(audited, new Date(nowMs)) }
  } finally {
    await store.close()
  }
  const copy = openDatabase(draft, { readonly: false })
  try {
    copy.pragma('journal_mode = DELETE')
    verifyDatabase(copy, draft, migrations)
  } finally {
    copy.close()
  }
  syncFile(draft)
  return made
}

/**
 * Answers where the old database has gone. There is a whole database under the name all the time.
 */
function replaceDatabase(database: string, draft: string, aside: string): string | null {
  const directory = dirname(database)
  const lock = existsSync(database) ? lockForGood(database) : null
  try {
    const isMoved = moveAside(database, aside)
    renameSync(draft, database)
    syncFile(directory)
    return isMoved ? aside : null
  } finally {
    lock?.close()
  }
}

/**
 * Locks out every other process, or throws when one has the database open: leaving the write-ahead
 * log behind takes the only connection there is. Null for a file that SQLite cannot read, which no
 * server can be using to any effect.
 */
function lockForGood(database: string): Database | null {
  const old = new Sqlite(database, { fileMustExist: true, timeout: 0 })
  try {
    old.pragma('journal_mode = DELETE')
    old.exec('BEGIN EXCLUSIVE')
    return old
  } catch (error) {
    old.close()
    const code = error instanceof Sqlite.SqliteError ? error.code : ''
    if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) return null
    if (!code.startsWith('SQLITE_BUSY') && code !== 'SQLITE_LOCKED') throw error
    throw new CommandFailure(
      'refused',
      `a server or command is using \`${database}\`; stop it and try again`,
    )
  }
}

/** A log that is left beside a new database would be played into it. */
function moveAside(database: string, aside: string): boolean {
  const there = ['-wal', '-shm', '-journal'].filter((suffix) => isThere(`${database}${suffix}`))
  for (const suffix of there) renameSync(`${database}${suffix}`, `${aside}${suffix}`)
  if (!isThere(database)) return there.length > 0
  // A link, not a move: a server that starts at this moment must not find an empty place.
  linkSync(database, aside)
  return true
}

function isAnythingThere(database: string): boolean {
  return ['', '-wal', '-shm', '-journal'].some((suffix) => isThere(`${database}${suffix}`))
}

/** Also a link that leads nowhere. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}
