import { Worker } from 'node:worker_threads'
import { bundleOf, BUNDLED } from '../../packages/launcher/programs.mjs'
import type { StartWorker, WorkerName } from '../../server/src/platform/start-worker.ts'
import { startProcessOf } from '../../server/src/work/start-process.ts'

const PROCESSES: readonly WorkerName[] = ['replay-worker', 'review-worker', 'suggest-worker']

/** Starts the bundle of a worker, as the built server does: sources take ten times as long. */
export const startBundle: StartWorker = (name, options) => {
  const program = BUNDLED.find((each) => each.name === `palisade-${name}`)
  if (program === undefined) throw new Error(`${name} is not bundled`)
  const file = new URL(`../../${bundleOf(program)}`, import.meta.url)
  return PROCESSES.includes(name)
    ? startProcessOf(file, options)
    : new Worker(file, { execArgv: [], ...options })
}

/** Starts a process of a test's own in place of each worker. */
export function startProcessFile(file: URL): StartWorker {
  return (_name, options) => startProcessOf(file, options)
}

/** Starts a thread of a test's own in place of each thread. */
export function startFile(file: URL): StartWorker {
  return (_name, options) => new Worker(file, { execArgv: [], ...options })
}
