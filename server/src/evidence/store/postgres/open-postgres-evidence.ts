import { parseDatabaseUrl, type DatabaseAddress } from '../../../store/postgres/database-url.ts'
import { migrate } from '../../../store/postgres/migrate.ts'
import { withConnection } from '../../../store/postgres/open-postgres-store.ts'
import type {
  PostgresConnection,
  StatementTexts,
} from '../../../store/postgres/postgres-connection.ts'
import { createSessions, type Sessions } from '../../../store/postgres/sessions.ts'
import { TAKE_WRITE_LOCK } from '../../../store/postgres/write-lock.ts'
import type { EvidenceReading, EvidenceStore } from '../evidence-store.ts'
import { createEvidenceStore } from '../sql/create-evidence-store.ts'
import { daysOf } from '../sql/day.ts'
import {
  createEvidenceReader,
  createEvidenceWriter,
  type EvidenceReader,
  type EvidenceWriter,
} from '../sql/evidence-rows.ts'
import { EVIDENCE_MIGRATIONS } from '../sql/evidence-schema.ts'
import {
  createPartition,
  dropPartition,
  missingPartitions,
  partitionedDays,
} from './day-partitions.ts'
import {
  beginAlone,
  beginAppending,
  beginReading,
  commitAfter,
  EVIDENCE_SCHEMA,
} from './evidence-transactions.ts'
import { insertArrays } from './insert-arrays.ts'

/** Default of `connections`. */
const READ_CONNECTIONS = 4
/** Batches of one process that are written side by side: those that have a turn at once. */
const WRITE_CONNECTIONS = 8

/**
 * Opens the evidence in the database that `url` names, in a schema of its own, which is made and
 * brought up to date. Throws StoreError, and RangeError for a URL that cannot be used.
 */
export async function openPostgresEvidence(
  url: string,
  { connections = READ_CONNECTIONS }: { readonly connections?: number } = {},
): Promise<EvidenceStore> {
  const address = parseDatabaseUrl(url)
  await prepareSchema(address)
  const texts: StatementTexts = new Map()
  const readers = createSessions(address, connections, texts, (connection) =>
    createEvidenceReader(connection, noPause),
  )
  const writers = createSessions(address, WRITE_CONNECTIONS, texts, (connection) =>
    createEvidenceWriter({
      connection,
      insertInto: (table, columns) => insertArrays(connection, table, columns),
      pause: noPause,
      // A server cannot see the disk of its database.
      requireRoom: () => {},
      memory: null,
    }),
  )
  const alone = <T>(
    work: (writer: EvidenceWriter, connection: PostgresConnection) => Promise<T>,
  ): Promise<T> =>
    writers.use(beginAlone, (writer, connection) =>
      commitAfter(connection, () => work(writer, connection)),
    )
  const preparing = shareWork()
  return createEvidenceStore({
    read: (work) =>
      readers.use(beginReading, (reader, connection) =>
        commitAfter(connection, () => work(reader)),
      ),
    async append(batch, work) {
      const days = partitionedDays(daysOf(batch.rows), batch.chain.received_ms)
      const target = { org: batch.org, days }
      const first = await appendWherePrepared(writers, target, work)
      if (first !== null) return first.appended
      // Once for all the first batches of a day or an organization, and without them: they would
      // come one after the other.
      await preparing.once(JSON.stringify(target), () =>
        alone((writer, connection) => prepare(writer, connection, target)),
      )
      const second = await appendWherePrepared(writers, target, work)
      if (second !== null) return second.appended
      // In one transaction: the upkeep of another server has removed the days again between two.
      return alone(async (writer, connection) => {
        await prepare(writer, connection, target)
        return work(writer)
      })
    },
    write: (work) =>
      writers.use(beginAppending, (writer, connection) =>
        commitAfter(connection, () => work(writer)),
      ),
    alone,
    async dropWholeDays(before) {
      while (await alone((_writer, connection) => dropPartition(connection, before)));
    },
    giveBack: () => Promise.resolve(),
    ping: () =>
      readers.use(beginReading, (reader, connection) =>
        commitAfter(connection, () => reader.requireTables()),
      ),
    async close() {
      await Promise.all([readers.close(), writers.close()])
    },
  })
}

/** Opens the evidence that a store has made, to read it alone, with one connection. */
export function openPostgresEvidenceReading(url: string): EvidenceReading {
  const readers = createSessions(parseDatabaseUrl(url), 1, new Map(), (connection) =>
    createEvidenceReader(connection, noPause),
  )
  const read = <T>(work: (reader: EvidenceReader) => Promise<T>): Promise<T> =>
    readers.use(beginReading, (reader, connection) => commitAfter(connection, () => work(reader)))
  return {
    tally: (org, time, page) => read((reader) => reader.tally(org, time, page)),
    tuples: (ids) => read((reader) => reader.tuples(ids)),
    sources: (ids) => read((reader) => reader.sources(ids)),
    close: () => readers.close(),
  }
}

interface BatchTarget {
  readonly org: string
  readonly days: readonly number[]
}

/** Appends. Returns null and leaves all as it was where a day or the organization is missing. */
function appendWherePrepared<T>(
  writers: Sessions<EvidenceWriter>,
  { org, days }: BatchTarget,
  work: (writer: EvidenceWriter) => Promise<T>,
): Promise<{ readonly appended: T } | null> {
  return writers.use(beginAppending, (writer, connection) =>
    commitAfter(connection, async () => {
      // No partition comes or goes while this transaction has its share of the lock.
      const missing = await missingPartitions(connection, days)
      if (missing.length > 0 || !(await writer.organizations.has(org))) return null
      return { appended: await work(writer) }
    }),
  )
}

/** Runs work of one key once for all who ask while it goes on. */
function shareWork(): { once(key: string, work: () => Promise<void>): Promise<void> } {
  const running = new Map<string, Promise<void>>()
  return {
    once(key, work) {
      const shared = running.get(key) ?? work().finally(() => running.delete(key))
      running.set(key, shared)
      return shared
    },
  }
}

async function prepare(
  writer: EvidenceWriter,
  connection: PostgresConnection,
  { org, days }: BatchTarget,
): Promise<void> {
  for (const day of days) await createPartition(connection, day)
  await writer.organizations.ensure(org)
}

async function prepareSchema(address: DatabaseAddress): Promise<void> {
  await withConnection(address, { mayTakeLong: true }, async (connection) => {
    // The lock of the writers: two servers that start together would both make the schema.
    await connection.execute(
      `BEGIN; ${TAKE_WRITE_LOCK}; CREATE SCHEMA IF NOT EXISTS ${EVIDENCE_SCHEMA}; COMMIT;
       SET search_path TO ${EVIDENCE_SCHEMA}`,
    )
    await migrate(connection, EVIDENCE_MIGRATIONS)
  })
}

/** Each statement is a journey to the database, during which other work runs anyway. */
const noPause = (): Promise<void> => Promise.resolve()
