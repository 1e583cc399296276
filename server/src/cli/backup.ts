import { join, resolve } from 'node:path'
import { backUp } from '../operations/backup/back-up.ts'
import type { OnProgress } from '../operations/backup/copy-database.ts'
import { describeEnded } from '../operations/backup/end-restored-access.ts'
import { restore } from '../operations/backup/restore.ts'
import { CommandFailure } from '../platform/command-failure.ts'
import { createProgress } from './progress.ts'
import type { Config } from '../config/config.ts'
import { DATABASE_FILE } from '../operations/storage/data-directory.ts'
import type { Sources } from '../platform/sources.ts'

export interface BackupOptions {
  readonly force?: true
  readonly json?: true
}

export interface RestoreOptions extends BackupOptions {
  readonly sha256?: string
  readonly unverified?: true
}

/** `backup FILE`: a checked copy of the database, also of one that a server is using. */
export async function backupCommand(
  config: Config,
  sources: Sources,
  options: BackupOptions & { readonly file: string },
): Promise<void> {
  requireSqlite(config, 'back it up with `pg_dump`')
  const backup = await backUp({
    database: join(config.dataDir, DATABASE_FILE),
    file: resolve(options.file),
    replace: options.force === true,
    suffix: sources.newId(),
    onProgress: tellProgress(),
  })
  print(
    options.json === true
      ? JSON.stringify(backup)
      : `backed up ${backup.rows} rows, schema ${backup.schema}, ${backup.bytes} bytes\n` +
          `sha256 ${backup.sha256}\nfile   ${backup.file}`,
  )
}

/** `restore FILE`: the data directory as it was when the backup was made. */
export async function restoreCommand(
  config: Config,
  sources: Sources,
  options: RestoreOptions & { readonly file: string },
): Promise<void> {
  const { sha256 = null } = options
  if (sha256 !== null && !/^[0-9a-fA-F]{64}$/.test(sha256))
    throw new CommandFailure('usage', '`--sha256` must be 64 hexadecimal digits')
  requireSqlite(config, 'restore it with `pg_restore`')
  const restored = await restore({
    file: resolve(options.file),
    database: join(config.dataDir, DATABASE_FILE),
    replace: options.force === true,
    sha256: sha256?.toLowerCase() ?? null,
    unverified: options.unverified === true,
    suffix: sources.newId(),
    nowMs: sources.now().getTime(),
    onProgress: tellProgress(),
  })
  if (options.json === true) {
    print(JSON.stringify(restored))
    return
  }
  const { from, to } = restored.schema
  print(`restored ${restored.rows} rows, schema ${from}${from === to ? '' : ` migrated to ${to}`}`)
  print(`database ${restored.database}`)
  if (restored.aside !== null) print(`the previous database is kept as ${restored.aside}`)
  for (const fault of restored.faults) print(`unverified: ${fault}`)
  print(describeEnded(restored.ended))
  print('Credentials revoked since the backup are valid again: check tokens, keys and members.')
}

function requireSqlite(config: Config, instead: string): void {
  if (config.databaseUrl !== null)
    throw new CommandFailure(
      'refused',
      '`DATABASE_URL` names a PostgreSQL database; ' +
        `${instead}, or unset it for the data directory`,
    )
}

function tellProgress(): OnProgress {
  const tell = createProgress()
  return (done) => tell(() => `${Math.floor(done * 100)} % copied`)
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
