import { setTimeout } from 'node:timers/promises'
import { quantile } from '../../measure/quantile.ts'
import type { LoadConnection } from './connection.ts'
import type { LoadReport, LoadRequest } from './load-request.ts'
import { askOn } from './pace.ts'
import { takeRequest, type RequestSet } from './request-set.ts'

/** Pause before a connection that the server closed is reopened. */
const REOPEN_PAUSE_MS = 5

/** Keeps connections busy for a time, as a hostile client does, whichever answers arrive. */
export async function saturate(
  { port, connections, forMs }: LoadRequest & { kind: 'saturate' },
  set: RequestSet,
): Promise<LoadReport> {
  const lanes: (LoadConnection | null)[] = Array.from({ length: connections }, () => null)
  const statuses: Record<string, number> = {}
  const tookMs: number[] = []
  const startMs = performance.now()
  await Promise.all(
    lanes.map(async (_, lane) => {
      while (performance.now() - startMs < forMs) {
        const askedMs = performance.now()
        // A copy, because the next lane writes its own counter into the same buffer.
        const status = await askOn(lanes, lane, port, Buffer.from(takeRequest(set).request))
        statuses[status] = (statuses[status] ?? 0) + 1
        tookMs.push(performance.now() - askedMs)
        if (status === 0) await setTimeout(REOPEN_PAUSE_MS)
      }
    }),
  )
  const elapsedMs = performance.now() - startMs
  const [p50Ms, p99Ms] = [quantile(tookMs, 0.5), quantile(tookMs, 0.99)]
  return { completed: tookMs.length, elapsedMs, statuses, p50Ms, p99Ms }
}
