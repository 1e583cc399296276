import type { WorkerPort } from '../../platform/start-worker.ts'
import { createSuggestHandler } from './suggest-in-worker.ts'
import type { SuggestWorkerMessage } from './suggest-worker-messages.ts'

/** Answers the one calculation whose parts arrive at the port. */
export function serveSuggestions(port: WorkerPort): void {
  const handle = createSuggestHandler((reply) => port.postMessage(reply, []))
  port.on('message', (message: SuggestWorkerMessage) => handle(message))
}
