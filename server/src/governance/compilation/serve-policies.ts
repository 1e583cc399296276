import type { WorkerPort } from '../../platform/start-worker.ts'
import { serveCalls } from '../../work/serve-calls.ts'
import { createWorkerSets } from './compile-in-worker.ts'
import type { PolicyMessage } from './worker-messages.ts'

/** Compiles the policies that arrive at the port, and decides by them. */
export function servePolicies(port: WorkerPort): void {
  const answer = createWorkerSets()
  serveCalls(port, { handle: (message) => answer(message as PolicyMessage) })
}
