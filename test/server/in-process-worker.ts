import { EventEmitter } from 'node:events'
import { MessageChannel } from 'node:worker_threads'
import { serveBatches } from '../../server/src/evidence/ingest/serve-batches.ts'
import { serveReplay } from '../../server/src/evidence/replay/serve-replay.ts'
import { serveSuggestions } from '../../server/src/evidence/suggest/run-suggestions.ts'
import { serveReviews } from '../../server/src/fleet/access/serve-reviews.ts'
import { servePolicies } from '../../server/src/governance/compilation/serve-policies.ts'
import type { StartWorker, WorkerName, WorkerPort } from '../../server/src/platform/start-worker.ts'
import { serveCheckpoints } from '../../server/src/store/sqlite/serve-checkpoints.ts'

const SERVES: Readonly<Record<WorkerName, (port: WorkerPort, data: unknown) => void>> = {
  'checkpoint-worker': serveCheckpoints,
  'ingest-worker': (port, data) => serveBatches(port, data, startInProcess),
  'policy-worker': servePolicies,
  'replay-worker': serveReplay,
  'review-worker': serveReviews,
  'suggest-worker': serveSuggestions,
}

/**
 * Runs the code of a worker in this thread, with the same copies of the same messages. A thread
 * takes longer to start than most tests; limits of its time and memory need a real one.
 */
export const startInProcess: StartWorker = (name, { workerData }) => {
  const { port1, port2 } = new MessageChannel()
  const events = new EventEmitter()
  port1.on('message', (message) => events.emit('message', message))
  port1.once('close', () => events.emit('exit', 0))
  SERVES[name](port2, structuredClone(workerData))
  return Object.assign(events, {
    postMessage: port1.postMessage.bind(port1),
    ref: () => port1.ref(),
    unref: () => port1.unref(),
    terminate: async () => {
      port1.close()
      return 0
    },
  })
}
