import type { EventEmitter } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import {
  parentPort,
  Worker,
  workerData,
  type MessagePort,
  type WorkerOptions,
} from 'node:worker_threads'
import { lowerPriority } from './lower-priority.ts'

/** The entry points of threads and child processes, in `workers`. */
export type WorkerName =
  | 'checkpoint-worker'
  | 'ingest-worker'
  | 'policy-worker'
  | 'replay-worker'
  | 'review-worker'
  | 'suggest-worker'

/** A running worker, as its starter sees it; a part of Node's `Worker`. */
export type RunningWorker = Pick<EventEmitter, 'on' | 'once'> &
  Pick<Worker, 'postMessage' | 'ref' | 'terminate' | 'unref'>

/** The messages of a worker, as the worker sees them. */
export interface WorkerPort extends Pick<MessagePort, 'close' | 'postMessage'> {
  on(event: 'message', take: Parameters<Worker['on']>[1]): unknown
}

/** Starts a worker; tests in process run its code without a thread. */
export type StartWorker = (name: WorkerName, options: WorkerOptions) => RunningWorker

/** Whether a thread has used up its memory, or a child process its own or that of the system. */
export function isOutOfMemory(error: Error): boolean {
  return 'code' in error && error.code === OUT_OF_MEMORY.code
}

/** Node's code for a thread. */
export const OUT_OF_MEMORY = { code: 'ERR_WORKER_OUT_OF_MEMORY' } as const

/**
 * V8 gives each thread the space for new objects that the options of the program reserve for
 * requests, whatever its `resourceLimits` say. A fifth of the memory under load was theirs.
 *
 * bench: server/hostile
 */
const NEW_SPACE_OF_THREADS = ['--min-semi-space-size=1', '--max-semi-space-size=8']

/** Starts a thread. */
export const startThread: StartWorker = (name, options) => {
  NEW_SPACE_OF_THREADS.forEach(setFlagsFromString)
  return new Worker(workerFile(name), { execArgv: [], ...options })
}

/** Runs the entry point of a thread, with a smaller share of a busy CPU than the request thread. */
export function serveThread(
  niceness: number,
  serve: (port: WorkerPort, data: unknown) => void,
): void {
  if (parentPort === null) throw new Error('a worker runs in a thread alone')
  lowerPriority(niceness)
  serve(parentPort, workerData)
}

/** In `workers` of the sources or of their compiled form; a bundle is beside the other bundles. */
export function workerFile(name: WorkerName): URL {
  const here = import.meta.url
  const extension = here.slice(here.lastIndexOf('.'))
  const folder = extension === '.cjs' ? './palisade-' : '../workers/'
  return new URL(`${folder}${name}${extension}`, here)
}
