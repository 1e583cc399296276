import type { RawBody } from '../../http/body/raw-body.ts'
import type { Log } from '../../operations/log/create-log.ts'
import { startThread, type RunningWorker, type StartWorker } from '../../platform/start-worker.ts'
import { StoreError } from '../../store/store-error.ts'
import type { EvidenceStore } from '../store/evidence-store.ts'
import {
  decodeFailure,
  type IngestReply,
  type IngestRequest,
  type IngestWorkerData,
} from './ingest-messages.ts'
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
 * megabytes to disk, and polls would wait for it. // bench: evidence/polls
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

interface Waiting {
  readonly resolve: (ingested: Ingested) => void
  readonly reject: (error: Error) => void
}

interface Thread {
  readonly worker: RunningWorker
  readonly waiting: Map<number, Waiting>
  /** Begins to wait for the next answer, if there is one to come. */
  readonly watch: () => void
  readonly ended: Promise<void>
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
  let current: Thread | null = null
  let pinging: Promise<void> | null = null
  let isClosed = false
  let numbers = 0

  function start(): Thread {
    const settings = { dataDir, databaseUrl, databaseConnections }
    const workerData: IngestWorkerData = { ...settings, evidenceLimits }
    const worker = startWorker('ingest-worker', {
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    })
    // The process must not wait for this thread when it stops.
    worker.unref()
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const waiting: Thread['waiting'] = new Map()
    let silence: NodeJS.Timeout | undefined
    const watch = (): void => {
      clearTimeout(silence)
      if (waiting.size > 0) silence = setTimeout(giveUp, answerWithinMs).unref()
    }
    const thread: Thread = { worker, waiting, watch, ended }
    worker.on('message', (reply: IngestReply) => {
      const batch = waiting.get(reply.id)
      waiting.delete(reply.id)
      watch()
      if ('ingested' in reply) batch?.resolve(reply.ingested)
      else batch?.reject(decodeFailure(reply.failure))
    })
    const end = (cause: unknown): void => {
      if (current === thread) {
        current = null
        if (!isClosed) log.error({ err: cause }, ENDED)
      }
      clearTimeout(silence)
      for (const { reject } of waiting.values()) reject(unavailable(ENDED, cause))
      waiting.clear()
      resolve()
    }
    // A thread that answers nothing would hold the turns of its organizations for good.
    function giveUp(): void {
      end(new Error(`no answer within ${answerWithinMs} ms`))
      void worker.terminate()
    }
    worker.once('error', end)
    worker.once('exit', (code) => end(new Error(`it exited with code ${code}`)))
    return thread
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
      if (current === null) await ping()
      const thread = (current ??= start())
      const { promise, resolve, reject } = Promise.withResolvers<Ingested>()
      const id = (numbers += 1)
      thread.waiting.set(id, { resolve, reject })
      if (thread.waiting.size === 1) thread.watch()
      // A copy, whose memory is moved: the memory of a small body is shared with others.
      const bytes = new Uint8Array(body.bytes)
      const request: IngestRequest = { id, body: { ...body, bytes }, sender, receivedMs }
      thread.worker.postMessage(request, [bytes.buffer])
      return promise
    },
    async close() {
      isClosed = true
      // Batches that wait for it start a thread.
      await pinging?.catch(() => {})
      const thread = current
      if (thread === null) return
      thread.worker.ref()
      const request: IngestRequest = 'close'
      thread.worker.postMessage(request, [])
      const timer = setTimeout(() => void thread.worker.terminate(), CLOSE_WITHIN_MS)
      await thread.ended
      clearTimeout(timer)
    },
  }
}

function unavailable(message: string, cause?: unknown): StoreError {
  return new StoreError('ERR_STORE_UNAVAILABLE', message, { cause })
}
