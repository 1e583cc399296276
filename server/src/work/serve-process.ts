import { writeFileSync } from 'node:fs'
import { lowerPriority } from '../platform/lower-priority.ts'
import type { WorkerPort } from '../platform/start-worker.ts'

/** Linux ends the process with the highest value first. */
const FIRST_TO_END = '1000'

/** Runs the entry point of a child process, with a smaller share of a busy CPU than the server. */
export function serveProcess(niceness: number, serve: (port: WorkerPort) => void): void {
  if (process.send === undefined)
    throw new Error('this program runs as a child of the server alone')
  lowerPriority(niceness)
  endFirst()
  // The server is gone, and its callers with it.
  process.once('disconnect', () => process.exit())
  serve({
    on: (event, take) => process.on(event, take),
    postMessage: (message: unknown) => void process.send?.(message, undefined, undefined, ignore),
    close: () => process.disconnect(),
  })
}

const ignore = (): void => undefined

/** When memory is short, Linux ends this process and not the server. */
function endFirst(): void {
  if (process.platform !== 'linux') return
  try {
    writeFileSync('/proc/self/oom_score_adj', FIRST_TO_END)
  } catch {
    // A container without `/proc`: the bound of the heap remains.
  }
}
