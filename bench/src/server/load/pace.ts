import { setTimeout } from 'node:timers/promises'
import { quantile } from '../../measure/quantile.ts'
import { openConnection, type LoadConnection } from './connection.ts'
import type { LoadReport, LoadRequest } from './load-request.ts'
import { takeRequest, type RequestSet } from './request-set.ts'

/** Keep-alive connections that take turns. Requests beyond this number wait. */
const CONNECTIONS = 16

/**
 * Sends requests at a fixed rate, whether or not earlier ones have been answered, and times each
 * from its scheduled moment. Status 0 means that the connection ended without an answer.
 */
export async function pace(
  { port, perSecond, forMs }: LoadRequest & { kind: 'pace' },
  set: RequestSet,
): Promise<LoadReport> {
  const lanes: (LoadConnection | null)[] = Array.from({ length: CONNECTIONS }, () => null)
  const last: Promise<void>[] = lanes.map(() => Promise.resolve())
  const statuses: Record<string, number> = {}
  const tookMs: number[] = []

  const ask = async (lane: number, dueMs: number): Promise<void> => {
    const status = await askOn(lanes, lane, port, takeRequest(set).request)
    statuses[status] = (statuses[status] ?? 0) + 1
    tookMs.push(performance.now() - dueMs)
  }

  const startMs = performance.now()
  const count = Math.round((perSecond * forMs) / 1000)
  for (let sent = 0; sent < count; sent += 1) {
    const dueMs = startMs + (sent * 1000) / perSecond
    const waitMs = dueMs - performance.now()
    if (waitMs > 0) await setTimeout(waitMs)
    const lane = sent % CONNECTIONS
    last[lane] = (last[lane] ?? Promise.resolve()).then(() => ask(lane, dueMs))
  }
  await Promise.all(last)
  const elapsedMs = performance.now() - startMs
  const [p50Ms, p99Ms] = [quantile(tookMs, 0.5), quantile(tookMs, 0.99)]
  return { completed: tookMs.length, elapsedMs, statuses, p50Ms, p99Ms }
}

/** Returns the status, or 0 when the connection ended. */
export async function askOn(
  lanes: (LoadConnection | null)[],
  lane: number,
  port: number,
  request: Buffer,
): Promise<number> {
  try {
    const known = lanes[lane]
    const connection = known?.isOpen() === true ? known : await openConnection(port)
    lanes[lane] = connection
    const { status } = await connection.ask(request)
    return status
  } catch {
    lanes[lane] = null
    return 0
  }
}
