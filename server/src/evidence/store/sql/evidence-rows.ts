import type { Connection } from '../../../store/sql/connection.ts'
import type { EvidenceStore } from '../evidence-store.ts'
import { createAppendBatch, type AppendBatch } from './append-batch.ts'
import { createChainReader } from './chain-rows.ts'
import { createDropOwned, type DropOwned } from './drop-owned.ts'
import { createDropRows, type DropRows } from './drop-rows.ts'
import { createListRecords } from './list-records.ts'
import { createFindLastLimited, createListLosses } from './loss-rows.ts'
import { createOrganizationRows, type OrganizationRows } from './organization-rows.ts'
import { createFindRuleUse } from './rule-use.ts'
import { createReadSources, createReadTuples, createTallyRecords } from './tally-records.ts'
import {
  createExportWriter,
  createUnexportedReader,
  type ExportWriter,
  type UnexportedReader,
} from './unexported-rows.ts'
import type { WritingSession } from './writing-session.ts'

/** The reading methods of a store on one connection, their statements prepared once. */
export interface EvidenceReader extends Pick<
  EvidenceStore,
  | 'chain'
  | 'list'
  | 'tally'
  | 'tuples'
  | 'sources'
  | 'losses'
  | 'lastLimited'
  | 'ruleUse'
  | 'firstDay'
  | 'days'
> {
  readonly unexported: UnexportedReader
  /** Throws `ERR_STORE_SCHEMA_DAMAGED` unless there is every table. */
  requireTables(): Promise<void>
}

export interface EvidenceWriter extends DropOwned, DropRows, ExportWriter {
  readonly append: AppendBatch
  readonly organizations: OrganizationRows
}

const TABLES = (
  'organizations chains sources tuples tuple_rules shadow_rules records days losses ' +
  'exporters unexported stored_bytes'
).split(' ')

/** `pause` lets other work of the process come between the parts of long work. */
export function createEvidenceReader(
  connection: Connection,
  pause: () => Promise<void>,
): EvidenceReader {
  const chains = createChainReader(connection)
  const days = connection.prepare<{ readonly day: number; readonly rows: number }>(
    `SELECT day, CAST(SUM(records) AS BIGINT) AS "rows" FROM days GROUP BY day ORDER BY day`,
  )
  const firstDay = connection.prepare<{ readonly day: number }>(
    `SELECT d.day FROM organizations o JOIN days d ON d.org = o.id
     WHERE o.name = ? ORDER BY d.day LIMIT 1`,
  )
  const everyTable = connection.prepare(
    TABLES.map((name) => `SELECT 1 FROM ${name} WHERE 1 = 0`).join(' UNION ALL '),
  )
  return {
    chain: chains.find,
    list: createListRecords(connection, pause),
    tally: createTallyRecords(connection),
    tuples: createReadTuples(connection),
    sources: createReadSources(connection),
    losses: createListLosses(connection),
    lastLimited: createFindLastLimited(connection),
    ruleUse: createFindRuleUse(connection, pause),
    async firstDay(org) {
      return (await firstDay.get(org))?.day ?? null
    },
    days: () => days.all(),
    unexported: createUnexportedReader(connection, pause),
    async requireTables() {
      await everyTable.get()
    },
  }
}

export function createEvidenceWriter(session: WritingSession): EvidenceWriter {
  const { connection } = session
  return {
    append: createAppendBatch(session),
    organizations: createOrganizationRows(connection),
    ...createDropRows(connection),
    ...createDropOwned(connection),
    ...createExportWriter(connection),
  }
}
