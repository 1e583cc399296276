import { parentPort } from 'node:worker_threads'
import { createWorkerSets } from './governance/compilation/compile-in-worker.ts'
import { READY, type WorkerRequest } from './governance/compilation/worker-messages.ts'
import { lowerPriority } from './platform/lower-priority.ts'

/** Compiling takes seconds; this gives it a third of the request thread's share of a busy CPU. */
const NICENESS = 5

lowerPriority(NICENESS)

const handle = createWorkerSets((reply) => parentPort?.postMessage(reply, []))
parentPort?.on('message', (message: WorkerRequest) => handle(message))
parentPort?.postMessage(READY, [])
