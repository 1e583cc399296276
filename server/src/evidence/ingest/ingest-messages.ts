import type { RawBody } from '../../http/body/raw-body.ts'
import type { StoreSettings } from '../../operations/storage/open-store.ts'
import { ApiError } from '../../platform/api-error.ts'
import { StoreError } from '../../store/store-error.ts'
import type { EvidenceLimits } from '../store/evidence-limits.ts'
import type { Ingested, Sender } from './ingest-service.ts'

/** The data that the thread starts with. */
export interface IngestWorkerData extends Pick<
  StoreSettings,
  'databaseConnections' | 'databaseUrl' | 'dataDir'
> {
  readonly evidenceLimits: EvidenceLimits
}

/** A batch; `close` ends the thread after all batches before it. */
export type IngestRequest =
  | {
      readonly id: number
      readonly body: RawBody
      readonly sender: Sender
      /** Epoch milliseconds. */
      readonly receivedMs: number
    }
  | 'close'

export type IngestReply =
  | { readonly id: number; readonly ingested: Ingested }
  | { readonly id: number; readonly failure: IngestFailure }

/** An error as data: the copy of an Error loses its class and its members. */
export type IngestFailure =
  | ({ readonly kind: 'refused' } & Pick<ApiError, RefusalMember>)
  | ({ readonly kind: 'store' } & Pick<StoreError, 'code' | 'message' | 'subject'>)
  | { readonly kind: 'other'; readonly message: string }

type RefusalMember = 'code' | 'field' | 'headers' | 'message' | 'reason' | 'status'

export function encodeFailure(error: unknown): IngestFailure {
  if (error instanceof ApiError) {
    const { status, code, message, reason, field, headers } = error
    return { kind: 'refused', status, code, message, reason, field, headers }
  }
  if (error instanceof StoreError) {
    const { code, message, subject } = error
    return { kind: 'store', code, message, subject }
  }
  return {
    kind: 'other',
    message: error instanceof Error ? (error.stack ?? error.message) : String(error),
  }
}

export function decodeFailure(failure: IngestFailure): Error {
  switch (failure.kind) {
    case 'refused': {
      const { status, code, message, ...options } = failure
      return new ApiError(status, code, message, options)
    }
    case 'store': {
      const { code, message, subject } = failure
      return new StoreError(code, message, subject === null ? {} : { subject })
    }
    case 'other':
      return new Error(`a batch of decision records failed: ${failure.message}`)
  }
}
