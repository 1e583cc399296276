import { parentPort } from 'node:worker_threads'
import { createWorkerSets } from './governance/compile-in-worker.ts'
import type { WorkerRequest } from './governance/worker-messages.ts'

const take = createWorkerSets((reply) => parentPort?.postMessage(reply, []))
parentPort?.on('message', (message: WorkerRequest) => take(message))
