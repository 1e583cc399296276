import { parseDatabaseUrl, type DatabaseAddress } from '../../../store/postgres/database-url.ts'
import { migrate } from '../../../store/postgres/migrate.ts'
import { withConnection } from '../../../store/postgres/open-postgres-store.ts'
import type {
  PostgresConnection,
  StatementTexts,
} from '../../../store/postgres/postgres-connection.ts'
import { createSessions, type Sessions } from '../../../store/postgres/sessions.ts'
import { createInsertRows } from '../../../store/sql/insert-rows.ts'
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

/** Default of `connections`. */
const READ_CONNECTIONS = 4
/** Batches of one process that are written side by side. */
const WRITE_CONNECTIONS = 4

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
      insertInto: (table, columns) => createInsertRows(connection, table, columns),
      pause: noPause,
      memory: null,
    }),
  )
  const alone = <T>(
    work: (writer: EvidenceWriter, connection: PostgresConnection) => Promise<T>,
  ): Promise<T> =>
    writers.use(beginAlone, (writer, connection) =>
      commitAfter(connection, () => work(writer, connection)),
    )
  return createEvidenceStore({
    read: (work) =>
      readers.use(beginReading, (reader, connection) =>
        commitAfter(connection, () => work(reader)),
      ),
    async append(batch, work) {
      const days = partitionedDays(daysOf(batch.rows), batch.chain.received_ms)
      const missing = await appendUnlessMissing(writers, days, work)
      if (missing.length === 0) return
      // In one transaction: the upkeep of another server could remove the days again between two.
      await alone(async (writer, connection) => {
        for (const day of missing) await createPartition(connection, day)
        await work(writer)
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

/** Appends, or answers the days without a partition and leaves everything as it was. */
function appendUnlessMissing(
  writers: Sessions<EvidenceWriter>,
  days: readonly number[],
  work: (writer: EvidenceWriter) => Promise<void>,
): Promise<readonly number[]> {
  return writers.use(beginAppending, (writer, connection) =>
    commitAfter(connection, async () => {
      // No partition comes or goes while this transaction has its share of the lock.
      const missing = await missingPartitions(connection, days)
      if (missing.length === 0) await work(writer)
      return missing
    }),
  )
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
