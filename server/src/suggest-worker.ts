import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { createSuggestHandler } from './evidence/suggest/suggest-in-worker.ts'
import type { SuggestWorkerMessage } from './evidence/suggest/suggest-worker-messages.ts'

/** Suggestions take seconds; this gives a third of the request thread's share of a busy CPU. */
const NICENESS = 5

// Linux sets the priority of one thread; other systems would set that of the whole server.
if (process.platform === 'linux') setPriority(NICENESS)

const handle = createSuggestHandler((reply) => parentPort?.postMessage(reply, []))
parentPort?.on('message', (message: SuggestWorkerMessage) => handle(message))
