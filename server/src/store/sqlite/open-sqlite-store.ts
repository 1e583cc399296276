import Sqlite, { type Database } from 'better-sqlite3'
import type { OpenMode } from '../open-mode.ts'
import { startThread, type StartWorker } from '../../platform/start-worker.ts'
import { requireSchema } from '../require-schema.ts'
import { MIGRATIONS } from '../sql/migrations/migrations.ts'
import type { Connection, Effect } from '../sql/connection.ts'
import type { Migration } from '../sql/dialect.ts'
import { requireTables } from '../aggregates/require-tables.ts'
import { createReader, createWriter } from '../aggregates/accessors.ts'
import { createWriteCache } from '../sql/write-cache.ts'
import type { Store, StoreReader } from '../store.ts'
import { createBallast, type Ballast } from './ballast.ts'
import { createBeginImmediate } from './begin-immediate.ts'
import { createCheckpoints, type Checkpoints } from './checkpoints.ts'
import { createPrivateFile, requireFile } from './database-file.ts'
import { createGeneration } from './generation.ts'
import { createGroupCommit } from './group-commit.ts'
import { migrate, requireNewest } from './migrate.ts'
import { createReadingPool, type ReadingPool, type ReadingSession } from './reading-pool.ts'
import { requireOwn } from './require-own.ts'
import { createSqliteConnection } from './sqlite-connection.ts'
import { guard } from './sqlite-error.ts'
import { watchFiles } from './watch-files.ts'

/**
 * Pages in memory, for each connection. The driver's default of 16 MiB fills with pages that are
 * not read again, such as history; rows that are read often are cached as objects.
 */
const PAGE_CACHE_KIB = 4096

/**
 * Pages in the log (64 MiB) after which each commit also copies the pages that the thread has left,
 * until the log restarts; see `createCheckpoints`.
 */
const LAST_CHECKPOINT_PAGES = 16_000

/** How long a writer waits for another process (`palisade-server org create`) to finish. */
const BUSY_TIMEOUT_MS = 5_000

/** Reads that pause at once; each holds a connection, and some MiB of pages. */
const READING_CONNECTIONS = 8

/**
 * Opens the database at `path`. With `create` a missing database is made (mode 0600), and the
 * schema brought up to date. Throws StoreError.
 *
 * Readers have separate connections, so that in WAL mode they see committed data alone while a
 * writer is in the middle of its work, and no reader waits for another that pauses.
 */
export function openSqliteStore(
  path: string,
  opening: OpenMode = 'create',
  migrations: readonly Migration[] = MIGRATIONS,
  startWorker: StartWorker = startThread,
): Store {
  if (opening === 'create') createPrivateFile(path)
  else requireFile(path)
  const requireSameFile = watchFiles([path])
  const ballast = createBallast(path)
  ballast.giveRoom()
  const writing = openConnection(path, { readonly: false })
  try {
    const prepare = opening === 'create' ? migrate : requireNewest
    guard(() => prepare(writing, migrations))
    // From here on `createBeginImmediate` waits.
    guard(() => writing.pragma('busy_timeout = 0'))
    const schema = migrations.length
    const openReading = (): ReadingSession<Reading> => {
      const session = createReadingSession(openConnection(path, { readonly: true }), schema)
      try {
        // A restore may have put another database there since the first one was opened.
        requireSameFile()
        return session
      } catch (error) {
        session.close()
        throw error
      }
    }
    const readers = createReadingPool(openReading(), openReading, {
      connections: READING_CONNECTIONS,
    })
    return createStore(writing, {
      schema,
      ballast,
      readers,
      checkpoints: createCheckpoints(writing, path, { startWorker }),
      requireSameFiles: watchFiles([path, `${path}-wal`]),
    })
  } catch (error) {
    writing.close()
    throw error
  }
}

function createStore(
  writing: Database,
  {
    schema,
    ballast,
    readers,
    checkpoints,
    requireSameFiles,
  }: {
    readonly schema: number
    readonly ballast: Pick<Ballast, 'giveRoom'>
    readonly readers: ReadingPool<Reading>
    readonly checkpoints: Checkpoints
    readonly requireSameFiles: () => void
  },
): Store {
  const cache = createWriteCache()
  /** The effect of the writes since the transaction began. */
  let effect: Effect = 'progress'
  const forgetOthers = createOthersCheck(writing, () => cache.forget())
  const writer = createWriter(
    createSqliteConnection(writing, (written) => {
      effect = widest(effect, written)
    }),
    cache,
  )
  const generation = createGeneration(writing)
  const beginImmediate = createBeginImmediate(writing)
  const requireWrittenSchema = createSchemaCheck(writing, schema)
  const writers = createGroupCommit(writing, {
    // Counted from the arrival; otherwise each of the waiting writers would get a full five
    // seconds.
    async begin(arrivedMs) {
      ballast.giveRoom()
      await beginImmediate(arrivedMs + BUSY_TIMEOUT_MS)
      requireWrittenSchema()
      forgetOthers()
      effect = 'progress'
    },
    beforeCommit: requireSameFiles,
    ended(how) {
      if (how === 'failed') cache.forget()
      if (how === 'committed') checkpoints.committed()
      if (how !== 'undone') generation.committed(how === 'failed' ? 'everything' : effect)
    },
  })
  return {
    read: (work) => readers.read(({ reader }) => work(reader)),
    transaction: (work) =>
      writers.run(async () => {
        cache.mark()
        try {
          return await work(writer)
        } catch (error) {
          cache.undo()
          throw error
        }
      }),
    generation: (of) => generation.current(of),
    async ping() {
      await readers.read(({ connection }) => requireTables(connection))
      requireSameFiles()
    },
    async close() {
      await Promise.all([readers.close(), writers.drained()])
      await checkpoints.close()
      writing.close()
    },
  }
}

/** The session of each reading connection. */
interface Reading {
  readonly connection: Connection
  readonly reader: StoreReader
}

function createReadingSession(database: Database, schema: number): ReadingSession<Reading> {
  const connection = createSqliteConnection(database)
  const reader = createReader(connection)
  const begin = guard(() => database.prepare('BEGIN'))
  const end = guard(() => database.prepare('COMMIT'))
  const requireKnownSchema = createSchemaCheck(database, schema)
  return {
    async read(work) {
      guard(() => begin.run())
      try {
        // The first statement takes the snapshot.
        requireKnownSchema()
        return await work({ connection, reader })
      } finally {
        if (database.inTransaction) guard(() => end.run())
      }
    },
    close: () => database.close(),
  }
}

function widest(one: Effect, other: Effect): Effect {
  if (one === 'everything' || other === 'progress') return one
  return other
}

/**
 * To be called within a transaction that writes: others cannot commit until it ends. `data_version`
 * tells of commits through any other connection, of this process or another, and never of its own.
 */
function createOthersCheck(database: Database, committed: () => void): () => void {
  const version = guard(() => database.prepare<[], number>('PRAGMA data_version').pluck())
  let known: number | undefined
  return () => {
    const current = guard(() => version.get())
    if (current !== known) committed()
    known = current
  }
}

/** Ends the transaction when it throws. */
function createSchemaCheck(database: Database, schema: number): () => void {
  const version = guard(() => database.prepare<[], number>('PRAGMA user_version').pluck())
  return () => {
    try {
      requireSchema(guard(() => version.get()) ?? 0, schema)
    } catch (error) {
      if (database.inTransaction) guard(() => database.exec('ROLLBACK'))
      throw error
    }
  }
}

function openConnection(path: string, options: { readonly: boolean }): Database {
  return guard(() => {
    const database = new Sqlite(path, { ...options, timeout: BUSY_TIMEOUT_MS })
    try {
      if (!options.readonly) {
        requireOwn(database)
        database.pragma('journal_mode = WAL')
        // FULL: a commit is on disk before it is acknowledged, also when the power fails.
        database.pragma('synchronous = FULL')
        database.pragma(`wal_autocheckpoint = ${LAST_CHECKPOINT_PAGES}`)
      }
      database.pragma('foreign_keys = ON')
      // Negative: in KiB, not in pages.
      database.pragma(`cache_size = -${PAGE_CACHE_KIB}`)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  })
}
