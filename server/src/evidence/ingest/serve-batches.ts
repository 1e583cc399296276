import { startThread, type StartWorker, type WorkerPort } from '../../platform/start-worker.ts'
import { serveCalls } from '../../work/serve-calls.ts'
import { openLastingEvidence } from '../store/lasting-evidence.ts'
import { openEvidenceStore } from '../store/open-evidence-store.ts'
import type { IngestMessage, IngestWorkerData } from './ingest-messages.ts'
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
  // Its failure is the answer to each batch.
  opening.catch(() => undefined)
  serveCalls(port, {
    async handle(message) {
      const { body, sender, receivedMs } = message as IngestMessage
      const deps = { evidence: await opening, limits: settings.evidenceLimits }
      return ingestBatch(body, sender, receivedMs, deps)
    },
    async close() {
      await (await opening).close()
    },
  })
}
