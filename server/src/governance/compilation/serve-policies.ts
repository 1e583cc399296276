import type { WorkerPort } from '../../platform/start-worker.ts'
import { createWorkerSets } from './compile-in-worker.ts'
import { READY, type WorkerRequest } from './worker-messages.ts'

/** Compiles the policies that arrive at the port, and decides by them. */
export function servePolicies(port: WorkerPort): void {
  const handle = createWorkerSets((reply) => port.postMessage(reply, []))
  port.on('message', (message: WorkerRequest) => handle(message))
  port.postMessage(READY, [])
}
