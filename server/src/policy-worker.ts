import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { createWorkerSets } from './governance/compilation/compile-in-worker.ts'
import { READY, type WorkerRequest } from './governance/compilation/worker-messages.ts'

/**
 * On a busy machine a third of the time that the thread of the requests gets; compiling takes
 * seconds.
 */
const NICENESS = 5

// Linux counts threads as processes: elsewhere this would be about all of the server.
if (process.platform === 'linux') setPriority(NICENESS)

const take = createWorkerSets((reply) => parentPort?.postMessage(reply, []))
parentPort?.on('message', (message: WorkerRequest) => take(message))
parentPort?.postMessage(READY, [])
