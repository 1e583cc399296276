import { existsSync, lstatSync, realpathSync, statSync } from 'node:fs'
import { link, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CommandFailure } from '../../platform/command-failure.ts'
import { requireReplaceable } from '../../platform/replaceable-file.ts'
import { copyDatabase, syncFile, type OnProgress } from './copy-database.ts'
import { sealFile } from './seal.ts'
import { openDatabase } from './verify-database.ts'
import { describeUnwritable } from './unwritable.ts'

export interface BackupRequest {
  /** Path of the database; a server may be using it. */
  readonly database: string
  /** Absolute path of the backup. */
  readonly file: string
  /** Whether a file that is there may be replaced. */
  readonly replace: boolean
  /** Makes the name of the draft beside it. */
  readonly suffix: string
  readonly onProgress: OnProgress
}

export interface Backup {
  readonly file: string
  readonly bytes: number
  /** The SHA-256 of the whole file, seal included. */
  readonly sha256: string
  readonly schema: number
  readonly rows: number
}

/**
 * Makes a checked copy of the database, whole under its name or not at all. Throws CommandFailure.
 */
export async function backUp(request: BackupRequest): Promise<Backup> {
  const { database, file, replace, suffix, onProgress } = request
  if (!replace && isTaken(file)) throw taken(file)
  if (!existsSync(dirname(file)))
    throw new CommandFailure('refused', `there is no directory \`${dirname(file)}\``)
  requireNotOwn(database, file)
  requireReplaceable(file)
  const draft = `${file}.${suffix}`
  const source = openDatabase(database, { readonly: false })
  try {
    const { schema, rows } = await copyDatabase(source, draft, onProgress)
    const sha256 = await sealFile(draft)
    syncFile(draft)
    const { size } = statSync(draft)
    await publish(draft, file, replace)
    return { file, bytes: size, sha256, schema, rows }
  } catch (error) {
    await rm(draft, { force: true })
    throw isSystemError(error, 'EEXIST') ? taken(file) : describeUnwritable(file, error)
  } finally {
    source.close()
  }
}

/** Throws CommandFailure for the database and its log, by any path to them. */
function requireNotOwn(database: string, file: string): void {
  const paths = [
    resolveDirectory(database),
    existsSync(database) ? realpathSync(database) : database,
  ]
  const own = paths.flatMap((path) => ['', '-wal', '-shm', '-journal'].map((end) => path + end))
  if (own.includes(resolveDirectory(file)))
    throw new CommandFailure('refused', `\`${file}\` belongs to the database; name another file`)
}

/**
 * The path with all links of its directory followed, but not its own: a link is replaced itself.
 */
function resolveDirectory(path: string): string {
  const directory = dirname(path)
  return existsSync(directory) ? join(realpathSync(directory), basename(path)) : path
}

async function publish(draft: string, file: string, replace: boolean): Promise<void> {
  if (replace) {
    // Once more: copying may have taken long.
    requireReplaceable(file)
    await rename(draft, file)
  } else {
    // Unlike rename, link refuses to replace a file that has appeared meanwhile.
    await link(draft, file)
    await rm(draft)
  }
  syncFile(dirname(file))
}

/** Also for a link that leads nowhere. */
function isTaken(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

function taken(file: string): CommandFailure {
  return new CommandFailure('refused', `file \`${file}\` exists already; use --force to replace it`)
}

function isSystemError(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
