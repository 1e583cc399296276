import { startThread, type StartWorker, type WorkerPort } from '../../platform/start-worker.ts'
import { openLastingEvidence } from '../store/lasting-evidence.ts'
import { openEvidenceStore } from '../store/open-evidence-store.ts'
import {
  encodeFailure,
  type IngestReply,
  type IngestRequest,
  type IngestWorkerData,
} from './ingest-messages.ts'
import { ingestBatch } from './ingest-service.ts'

/** Stores the batches that arrive at the port, in a store of its own. */
export function serveBatches(
  port: WorkerPort,
  data: unknown,
  startWorker: StartWorker = startThread,
): void {
  const settings = data as IngestWorkerData
  const opening = openLastingEvidence(
    () => openEvidenceStore(settings, startWorker),
    () => performance.now(),
  )
  const running = new Set<Promise<void>>()

  async function answer(request: Exclude<IngestRequest, 'close'>): Promise<void> {
    const { id, body, sender, receivedMs } = request
    const reply: IngestReply = await opening
      .then((evidence) =>
        ingestBatch(body, sender, receivedMs, { evidence, limits: settings.evidenceLimits }),
      )
      .then(
        (ingested) => ({ id, ingested }),
        (error: unknown) => ({ id, failure: encodeFailure(error) }),
      )
    port.postMessage(reply, [])
  }

  async function close(): Promise<void> {
    await Promise.all(running)
    await (await opening).close()
    port.close()
  }

  port.on('message', (request: IngestRequest) => {
    if (request === 'close') return void close()
    const work = answer(request).finally(() => running.delete(work))
    running.add(work)
  })
}
