import { quantile } from '../figures/range.ts'
import { openConnection, type LoadAnswer, type LoadConnection } from './connection.ts'
import type { LoadReport } from './load-request.ts'

/** A place of one request in flight, whose connection is opened again when the server closes it. */
export interface LoadLane {
  /** Returns null when the connection ended without an answer. */
  ask(request: Buffer): Promise<LoadAnswer | null>
}

export function createLane(port: number): LoadLane {
  let connection: LoadConnection | null = null
  return {
    async ask(request) {
      try {
        if (connection?.isOpen() !== true) connection = await openConnection(port)
        return await connection.ask(request)
      } catch {
        connection = null
        return null
      }
    },
  }
}

/** Counts answers and their times. */
export function createTally() {
  const statuses: Record<string, number> = {}
  const tookMs: number[] = []
  const startMs = performance.now()
  return {
    count(status: number, ms: number): void {
      statuses[status] = (statuses[status] ?? 0) + 1
      tookMs.push(ms)
    },
    report: (): LoadReport => ({
      completed: tookMs.length,
      elapsedMs: performance.now() - startMs,
      statuses,
      p50Ms: quantile(tookMs, 0.5),
      p99Ms: quantile(tookMs, 0.99),
    }),
  }
}
