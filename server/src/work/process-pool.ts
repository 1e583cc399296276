import { totalmem } from 'node:os'
import { createAnswerTurns } from './answer-turns.ts'
import type { StartWorker } from '../platform/start-worker.ts'
import { startProcess } from './start-process.ts'

const MIB = 1024 * 1024
/** Calls of one organization that wait, and those of all. */
const WAITING = { each: 4, all: 64 } as const
const RUNNING = 1
/** A million sightings take half of it. // bench: evidence/replay */
const MOST_HEAP_MIB = 320
/** Enough for the evidence of a small organization. */
const LEAST_HEAP_MIB = 96
/** Memory of a child beside its heap: Node itself, the database, typed arrays. */
const BESIDE_HEAP_MIB = 128

/** Runs work that takes much memory in child processes, one at a time for the whole server. */
export interface ProcessPool {
  /**
   * Calls `work` when it is the organization's turn, and its caller's within. `start` starts a
   * child whose heap fits beside the server. Throws 429 when too many wait.
   */
  run<T>(
    who: { readonly org: string; readonly caller: string },
    work: (start: StartWorker) => Promise<T>,
  ): Promise<T>
}

export function createProcessPool(start: StartWorker = startProcess): ProcessPool {
  const turns = createAnswerTurns(WAITING.each, RUNNING, WAITING.all)
  const startBounded: StartWorker = (name, options) =>
    start(name, { ...options, resourceLimits: { maxOldGenerationSizeMb: heapMib(readMemory()) } })
  return { run: ({ org, caller }, work) => turns.run(org, () => work(startBounded), caller) }
}

/** Bytes. */
export interface ServerMemory {
  /** The memory of the container, or of the machine. */
  readonly limit: number
  readonly used: number
}

/** The heap of a child that fits into the rest of the memory, in MiB. */
export function heapMib({ limit, used }: ServerMemory): number {
  const free = Math.floor((limit - used) / MIB) - BESIDE_HEAP_MIB
  return Math.max(LEAST_HEAP_MIB, Math.min(free, MOST_HEAP_MIB))
}

function readMemory(): ServerMemory {
  // 0 without a limit.
  const limit = process.constrainedMemory() || Number.POSITIVE_INFINITY
  return { limit: Math.min(limit, totalmem()), used: process.memoryUsage.rss() }
}
