import { parentPort } from 'node:worker_threads'
import { createSuggestHandler } from './evidence/suggest/suggest-in-worker.ts'
import type { SuggestWorkerMessage } from './evidence/suggest/suggest-worker-messages.ts'
import { lowerPriority } from './platform/lower-priority.ts'

/** Suggestions take seconds; this gives a third of the request thread's share of a busy CPU. */
const NICENESS = 5

lowerPriority(NICENESS)

const handle = createSuggestHandler((reply) => parentPort?.postMessage(reply, []))
parentPort?.on('message', (message: SuggestWorkerMessage) => handle(message))
