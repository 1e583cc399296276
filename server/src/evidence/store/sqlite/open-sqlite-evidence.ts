import Sqlite, { type Database } from 'better-sqlite3'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { startThread, type StartWorker } from '../../../platform/start-worker.ts'
import { requireSchema } from '../../../store/require-schema.ts'
import { createBeginImmediate } from '../../../store/sqlite/begin-immediate.ts'
import { createCheckpoints, type Checkpoints } from '../../../store/sqlite/checkpoints.ts'
import { createPrivateFile } from '../../../store/sqlite/database-file.ts'
import { createGroupCommit, type GroupCommit } from '../../../store/sqlite/group-commit.ts'
import { migrate } from '../../../store/sqlite/migrate.ts'
import { createReadingPool, type ReadingSession } from '../../../store/sqlite/reading-pool.ts'
import { requireOwn } from '../../../store/sqlite/require-own.ts'
import { createSqliteConnection } from '../../../store/sqlite/sqlite-connection.ts'
import { guard } from '../../../store/sqlite/sqlite-error.ts'
import { watchFiles } from '../../../store/sqlite/watch-files.ts'
import type { EvidenceReading, EvidenceStore } from '../evidence-store.ts'
import { createEvidenceStore } from '../sql/create-evidence-store.ts'
import {
  createEvidenceReader,
  createEvidenceWriter,
  type EvidenceReader,
} from '../sql/evidence-rows.ts'
import { EVIDENCE_MIGRATIONS } from '../sql/evidence-schema.ts'
import { createTupleMemory, type TupleMemory } from '../sql/writing-session.ts'
import { createDiskReserve, type RequireDiskRoom } from './disk-reserve.ts'
import { insertOneByOne } from './insert-one-by-one.ts'

/** Tables of every version. */
const TABLES = ['organizations', 'chains', 'tuples', 'records']

/** Pages in memory of the writing connection: those of one day's indexes. */
const WRITE_CACHE_KIB = 32 * 1024
/** Pages in memory of each reading connection. */
const READ_CACHE_KIB = 8 * 1024
const READING_CONNECTIONS = 4
/** Tuples that the newest batches had, of about 200 bytes. */
const TUPLES_IN_MEMORY = 100_000
/** Pages in the log after which a commit copies them itself; see `createCheckpoints`. */
const LAST_CHECKPOINT_PAGES = 16_000
/** Free pages that one transaction gives back. */
const PAGES_IN_A_STEP = 500
/** How long a batch waits for another process. */
const BUSY_TIMEOUT_MS = 5_000

/** Opens the evidence in the file at `path`, which is made with mode 0600. Throws StoreError. */
export function openSqliteEvidence(
  path: string,
  startWorker: StartWorker = startThread,
  requireDiskRoom: RequireDiskRoom = createDiskReserve(path),
): EvidenceStore {
  createPrivateFile(path)
  const requireSameFile = watchFiles([path])
  const writing = openConnection(path, { readonly: false })
  try {
    guard(() => migrate(writing, EVIDENCE_MIGRATIONS))
    // From here on `createBeginImmediate` waits.
    guard(() => writing.pragma('busy_timeout = 0'))
    const openReading = (): ReadingSession<EvidenceReader> => {
      const session = createReadingSession(openConnection(path, { readonly: true }))
      try {
        requireSameFile()
        return session
      } catch (error) {
        session.close()
        throw error
      }
    }
    return createStore(writing, openReading, {
      requireDiskRoom,
      checkpoints: createCheckpoints(writing, path, { startWorker }),
      requireSameFiles: watchFiles([path, `${path}-wal`]),
    })
  } catch (error) {
    writing.close()
    throw error
  }
}

/** Opens the file at `path`, which a store has made, to read it alone. Throws StoreError. */
export function openSqliteEvidenceReading(path: string): EvidenceReading {
  const session = createReadingSession(openConnection(path, { readonly: true }))
  const readers = createReadingPool(session, () => session, { connections: 1 })
  return {
    tally: (org, time, page) => readers.read((reader) => reader.tally(org, time, page)),
    tuples: (ids) => readers.read((reader) => reader.tuples(ids)),
    sources: (ids) => readers.read((reader) => reader.sources(ids)),
    close: () => readers.close(),
  }
}

function createStore(
  writing: Database,
  openReading: () => ReadingSession<EvidenceReader>,
  deps: WritingDeps & { readonly requireDiskRoom: RequireDiskRoom },
): EvidenceStore {
  const readers = createReadingPool(openReading(), openReading, {
    connections: READING_CONNECTIONS,
  })
  const memory = createTupleMemory(TUPLES_IN_MEMORY)
  const room = createRoom(writing, deps.requireDiskRoom)
  const writer = createEvidenceWriter({
    connection: createSqliteConnection(writing),
    insertInto: (table, columns) => insertOneByOne(writing, table, columns),
    pause: nextTurn,
    requireRoom: room.require,
    memory,
  })
  const writers = createWriters(writing, memory, {
    checkpoints: deps.checkpoints,
    requireSameFiles: deps.requireSameFiles,
    ended: room.settle,
  })
  return createEvidenceStore({
    read: (work) => readers.read(work),
    append: (_batch, work) =>
      writers.run(async () => {
        try {
          return await work(writer)
        } catch (error) {
          memory.forget()
          throw error
        }
      }),
    write: (work) => writers.run(() => work(writer)),
    alone(work) {
      return writers.run(() => {
        memory.forget()
        return work(writer)
      })
    },
    // Rows of a day are one range of each index, which `dropOld` deletes in steps.
    dropWholeDays: () => Promise.resolve(),
    async giveBack() {
      while (await writers.run(async () => shrink(writing)));
      guard(() => writing.pragma('wal_checkpoint(TRUNCATE)'))
    },
    async ping() {
      await readers.read((reader) => reader.requireTables())
      deps.requireSameFiles()
    },
    async close() {
      await Promise.all([readers.close(), writers.drained()])
      await deps.checkpoints.close()
      writing.close()
    },
  })
}

/** Cuts some free pages off the end of the file. Returns whether that did anything. */
function shrink(writing: Database): boolean {
  return guard(() => {
    const before = Number(writing.pragma('freelist_count', { simple: true }))
    writing.pragma(`incremental_vacuum(${PAGES_IN_A_STEP})`)
    return Number(writing.pragma('freelist_count', { simple: true })) < before
  })
}

interface WritingDeps {
  readonly checkpoints: Checkpoints
  readonly requireSameFiles: () => void
}

/** Counts the batches of a transaction, all of which the disk must have room for. */
function createRoom(
  writing: Database,
  requireDiskRoom: RequireDiskRoom,
): { readonly require: (bytes: number) => void; readonly settle: () => void } {
  const pages = guard(() => writing.prepare<[], number>('PRAGMA freelist_count').pluck())
  const pageBytes = Number(guard(() => writing.pragma('page_size', { simple: true })))
  let underWay = 0
  return {
    require(bytes) {
      const reusable = (guard(() => pages.get()) ?? 0) * pageBytes
      requireDiskRoom({ underWay: underWay + bytes, reusable })
      underWay += bytes
    },
    settle() {
      underWay = 0
    },
  }
}

function createWriters(
  writing: Database,
  memory: TupleMemory,
  { checkpoints, requireSameFiles, ended }: WritingDeps & { readonly ended: () => void },
): GroupCommit {
  const beginImmediate = createBeginImmediate(writing)
  const requireKnownSchema = createSchemaCheck(writing)
  // Tells of commits of other connections, and while this one has the lock there are none.
  const version = guard(() => writing.prepare<[], number>('PRAGMA data_version').pluck())
  let known: number | undefined
  return createGroupCommit(writing, {
    async begin(arrivedMs) {
      await beginImmediate(arrivedMs + BUSY_TIMEOUT_MS)
      requireKnownSchema()
      const current = guard(() => version.get())
      if (current !== known) memory.forget()
      known = current
    },
    beforeCommit: requireSameFiles,
    ended(how) {
      ended()
      if (how === 'failed') memory.forget()
      if (how === 'committed') checkpoints.committed()
    },
  })
}

function createReadingSession(database: Database): ReadingSession<EvidenceReader> {
  const reader = createEvidenceReader(createSqliteConnection(database), nextTurn)
  const begin = guard(() => database.prepare('BEGIN'))
  const end = guard(() => database.prepare('COMMIT'))
  const requireKnownSchema = createSchemaCheck(database)
  return {
    async read(work) {
      guard(() => begin.run())
      try {
        requireKnownSchema()
        return await work(reader)
      } finally {
        if (database.inTransaction) guard(() => end.run())
      }
    },
    close: () => database.close(),
  }
}

/** Ends the transaction when it throws. */
function createSchemaCheck(database: Database): () => void {
  const version = guard(() => database.prepare<[], number>('PRAGMA user_version').pluck())
  return () => {
    try {
      requireSchema(guard(() => version.get()) ?? 0, EVIDENCE_MIGRATIONS.length)
    } catch (error) {
      if (database.inTransaction) guard(() => database.exec('ROLLBACK'))
      throw error
    }
  }
}

function openConnection(path: string, options: { readonly readonly: boolean }): Database {
  return guard(() => {
    const database = new Sqlite(path, { ...options, timeout: BUSY_TIMEOUT_MS })
    try {
      if (!options.readonly) {
        requireOwn(database, TABLES)
        // Counts for a new file alone.
        database.pragma('auto_vacuum = INCREMENTAL')
        database.pragma('journal_mode = WAL')
        // FULL: a batch is on disk before it is acknowledged, also when the power fails.
        database.pragma('synchronous = FULL')
        database.pragma(`wal_autocheckpoint = ${LAST_CHECKPOINT_PAGES}`)
      }
      // Negative: in KiB, not in pages.
      database.pragma(`cache_size = -${options.readonly ? READ_CACHE_KIB : WRITE_CACHE_KIB}`)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  })
}
