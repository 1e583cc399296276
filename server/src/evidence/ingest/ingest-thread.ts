import type { RawBody } from '../../http/body/raw-body.ts'
import type { Log } from '../../operations/log/create-log.ts'
import { startThread, type StartWorker } from '../../platform/start-worker.ts'
import { StoreError } from '../../store/store-error.ts'
import { callWorker, type WorkerCalls } from '../../work/worker-calls.ts'
import type { EvidenceStore } from '../store/evidence-store.ts'
import type { IngestMessage, IngestWorkerData } from './ingest-messages.ts'
import type { Ingested, Sender } from './ingest-service.ts'

/** The largest batches take some tens of MiB each while they are read. */
const MAX_HEAP_MIB = 512
/** Longest wait for a database that does not answer, when the server stops. */
const CLOSE_WITHIN_MS = 10_000
/** Longest silence while batches wait. A statement of PostgreSQL ends after 12 s at most. */
const ANSWER_WITHIN_MS = 60_000
const ENDED = 'the thread that stores decision records has ended'

/**
 * Stores batches in a thread of its own, which starts with the first one: a commit flushes
 * megabytes to disk, and polls would wait for it. // bench: evidence/ingest
 */
export interface IngestThread {
  /**
   * Throws the errors of `ingestBatch`, and `ERR_STORE_UNAVAILABLE` when the thread ends meanwhile
   * or answers no batch for a minute; the next batch starts another one.
   */
  ingest(body: RawBody, sender: Sender, receivedMs: number): Promise<Ingested>
  /** Resolves when all batches are through and their store is closed. */
  close(): Promise<void>
}

/**
 * `evidence` is the server's own, and answers before a thread starts: a thread would make a new
 * database in the place of one that was deleted, which the server does not read.
 */
export function createIngestThread(
  { dataDir, databaseUrl, databaseConnections, evidenceLimits }: IngestWorkerData,
  evidence: Pick<EvidenceStore, 'ping'>,
  log: Log,
  {
    startWorker = startThread,
    answerWithinMs = ANSWER_WITHIN_MS,
  }: { readonly startWorker?: StartWorker; readonly answerWithinMs?: number } = {},
): IngestThread {
  let thread: WorkerCalls | null = null
  let pinging: Promise<void> | null = null
  let isClosed = false

  function start(): WorkerCalls {
    const settings = { dataDir, databaseUrl, databaseConnections }
    const workerData: IngestWorkerData = { ...settings, evidenceLimits }
    const worker = startWorker('ingest-worker', {
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    })
    return callWorker(worker, {
      // A thread that answers nothing would hold the turns of its organizations for good.
      answerWithinMs,
      refuse: ({ cause }) => unavailable(ENDED, cause),
      onEnd(cause) {
        thread = null
        if (!isClosed) log.error({ err: cause }, ENDED)
      },
    })
  }

  function ping(): Promise<void> {
    pinging ??= evidence.ping().finally(() => {
      pinging = null
    })
    return pinging
  }

  return {
    async ingest(body, sender, receivedMs) {
      if (isClosed) throw unavailable('the server is stopping')
      if (thread === null) await ping()
      // A copy, whose memory is moved: the memory of a small body is shared with others.
      const bytes = new Uint8Array(body.bytes)
      const message: IngestMessage = { body: { ...body, bytes }, sender, receivedMs }
      return (thread ??= start()).call(message, undefined, [bytes.buffer])
    },
    async close() {
      isClosed = true
      // Batches that wait for it start a thread.
      await pinging?.catch(() => {})
      await thread?.close(CLOSE_WITHIN_MS)
    },
  }
}

function unavailable(message: string, cause?: unknown): StoreError {
  return new StoreError('ERR_STORE_UNAVAILABLE', message, { cause })
}
