import { dirname, join, resolve } from 'node:path'
import { CommandFailure } from '../platform/command-failure.ts'
import { createProgress } from './progress.ts'
import type { Config } from '../config/config.ts'
import { ensurePrivateDirectory } from '../platform/private-directory.ts'
import { CopyError } from '../store/copy/copy-error.ts'
import { copyStore, type CopiedTable, type CopyEndpoint } from '../store/copy/copy-store.ts'
import { createSqliteEndpoint } from '../store/copy/sqlite-endpoint.ts'

export interface CopyOptions {
  readonly from: string
  readonly to: string
  readonly json?: true
}

/** `copy`: everything in one store to another, which is empty. */
export async function copyCommand(config: Config, options: CopyOptions): Promise<void> {
  const from = await openEndpoint('--from', options.from, config)
  const to = await openEndpoint('--to', options.to, config)
  const startedAt = performance.now()
  const tables = await run(from, to)
  const report = {
    from: from.label,
    to: to.label,
    tables,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    duration_ms: Math.round(performance.now() - startedAt),
  }
  process.stdout.write(options.json === true ? `${JSON.stringify(report)}\n` : describe(report))
}

async function run(from: CopyEndpoint, to: CopyEndpoint): Promise<readonly CopiedTable[]> {
  const tell = createProgress()
  try {
    return await copyStore(from, to, (table, rows) =>
      tell(() => `${rows} rows of \`${table}\` copied so far`),
    )
  } catch (error) {
    if (error instanceof CopyError) throw new CommandFailure('refused', error.message)
    throw error
  }
}

async function openEndpoint(
  option: string,
  location: string,
  config: Config,
): Promise<CopyEndpoint> {
  if (location === 'postgres' || /^postgres(ql)?:/.test(location)) {
    const url = location === 'postgres' ? config.databaseUrl : location
    if (url === null)
      throw new CommandFailure('usage', `\`${option} postgres\` needs \`DATABASE_URL\`; set it`)
    // Loaded late, as in `openStore`.
    const { createPostgresEndpoint } = await import('../store/copy/postgres-endpoint.ts')
    try {
      return createPostgresEndpoint(url)
    } catch (error) {
      if (error instanceof RangeError)
        throw new CommandFailure('usage', `the URL of \`${option}\` ${error.message}`)
      throw error
    }
  }
  const path = location === 'sqlite' ? join(config.dataDir, 'server.db') : resolve(location)
  if (option === '--to') ensurePrivateDirectory(dirname(path))
  return createSqliteEndpoint(path)
}

function describe(report: {
  readonly from: string
  readonly to: string
  readonly tables: readonly CopiedTable[]
  readonly rows: number
  readonly duration_ms: number
}): string {
  const width = Math.max(...report.tables.map(({ name }) => name.length))
  const lines = report.tables
    .filter(({ rows }) => rows > 0)
    .map(
      ({ name, rows, sha256 }) => `${name.padEnd(width)}  ${String(rows).padStart(9)}  ${sha256}`,
    )
  return [
    `copied ${report.rows} rows from \`${report.from}\` to \`${report.to}\` ` +
      `in ${report.duration_ms} ms`,
    '',
    ...lines,
    '',
    'Every row was read back and compared. Stop the servers of the old store before the new one',
    'accepts writes: later writes to the old store are not copied.',
    '',
  ].join('\n')
}
