import { parentPort, workerData } from 'node:worker_threads'
import {
  encodeFailure,
  type IngestReply,
  type IngestRequest,
  type IngestWorkerData,
} from './evidence/ingest/ingest-messages.ts'
import { ingestBatch } from './evidence/ingest/ingest-service.ts'
import { openLastingEvidence } from './evidence/store/lasting-evidence.ts'
import { openEvidenceStore } from './evidence/store/open-evidence-store.ts'
import { lowerPriority } from './platform/lower-priority.ts'

/** Machines can wait; this gives it a third of the request thread's share of a busy CPU. */
const NICENESS = 5

lowerPriority(NICENESS)

const settings = workerData as IngestWorkerData
const opening = openLastingEvidence(
  () => openEvidenceStore(settings),
  () => performance.now(),
)
const running = new Set<Promise<void>>()

async function answer(request: Exclude<IngestRequest, 'close'>): Promise<void> {
  const { id, body, sender, receivedMs } = request
  const reply: IngestReply = await opening
    .then((evidence) => ingestBatch(body, sender, receivedMs, evidence))
    .then(
      (ingested) => ({ id, ingested }),
      (error: unknown) => ({ id, failure: encodeFailure(error) }),
    )
  parentPort?.postMessage(reply, [])
}

async function close(): Promise<void> {
  await Promise.all(running)
  await (await opening).close()
  parentPort?.close()
}

parentPort?.on('message', (request: IngestRequest) => {
  if (request === 'close') return void close()
  const work = answer(request).finally(() => running.delete(work))
  running.add(work)
})
