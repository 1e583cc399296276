import type { RawBody } from '../../http/body/raw-body.ts'
import type { StoreSettings } from '../../operations/storage/open-store.ts'
import type { EvidenceLimits } from '../store/evidence-limits.ts'
import type { Sender } from './ingest-service.ts'

/** The data that the thread starts with. */
export interface IngestWorkerData extends Pick<
  StoreSettings,
  'databaseConnections' | 'databaseUrl' | 'dataDir'
> {
  readonly evidenceLimits: EvidenceLimits
}

/** A batch, which is answered with `Ingested`. */
export interface IngestMessage {
  readonly body: RawBody
  readonly sender: Sender
  /** Epoch milliseconds. */
  readonly receivedMs: number
}
