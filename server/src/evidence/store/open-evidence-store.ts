import { join } from 'node:path'
import { refuseDatabase, refuseFile } from '../../operations/storage/refused-store.ts'
import type { StoreSettings } from '../../operations/storage/open-store.ts'
import { startThread, type StartWorker } from '../../platform/start-worker.ts'
import { parseDatabaseUrl } from '../../store/postgres/database-url.ts'
import { StoreError } from '../../store/store-error.ts'
import type { EvidenceReading, EvidenceStore } from './evidence-store.ts'
import { openSqliteEvidence, openSqliteEvidenceReading } from './sqlite/open-sqlite-evidence.ts'

/** Name of the evidence's database in the data directory, which must be there. */
export const EVIDENCE_FILE = 'evidence.db'

/**
 * Opens the evidence beside the store that the settings name: in a schema of its own of the
 * database of `DATABASE_URL`, or in a file of its own. Throws ConfigError when it can never be
 * opened as it is, and StoreError when it does not answer at the moment.
 */
export async function openEvidenceStore(
  settings: StoreSettings,
  startWorker: StartWorker = startThread,
): Promise<EvidenceStore> {
  if (settings.databaseUrl === null)
    return openFile(join(settings.dataDir, EVIDENCE_FILE), startWorker)
  // Loaded late: most servers have SQLite.
  const { openPostgresEvidence } = await import('./postgres/open-postgres-evidence.ts')
  const { label } = parseDatabaseUrl(settings.databaseUrl)
  try {
    return await openPostgresEvidence(settings.databaseUrl)
  } catch (error) {
    throw error instanceof StoreError ? refuseDatabase(label, error) : error
  }
}

/** Opens the evidence once more, to read it in a thread of its own. Throws StoreError. */
export async function openEvidenceReading({
  databaseUrl,
  dataDir,
}: Pick<StoreSettings, 'databaseUrl' | 'dataDir'>): Promise<EvidenceReading> {
  if (databaseUrl === null) return openSqliteEvidenceReading(join(dataDir, EVIDENCE_FILE))
  const { openPostgresEvidenceReading } = await import('./postgres/open-postgres-evidence.ts')
  return openPostgresEvidenceReading(databaseUrl)
}

function openFile(path: string, startWorker: StartWorker): EvidenceStore {
  try {
    return openSqliteEvidence(path, startWorker)
  } catch (error) {
    throw error instanceof StoreError ? refuseFile(path, error) : error
  }
}
