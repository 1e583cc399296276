import { setTimeout } from 'node:timers/promises'
import { createLane, createTally, type LoadLane } from './lane.ts'
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
  const lanes = Array.from({ length: CONNECTIONS }, () => ({
    ...createLane(port),
    last: Promise.resolve(),
  }))
  const tally = createTally()
  const askAfter = async (last: Promise<void>, lane: LoadLane, dueMs: number): Promise<void> => {
    await last
    const answer = await lane.ask(takeRequest(set).request)
    tally.count(answer?.status ?? 0, performance.now() - dueMs)
  }
  const startMs = performance.now()
  const count = Math.round((perSecond * forMs) / 1000)
  for (let sent = 0; sent < count; sent += 1) {
    const dueMs = startMs + (sent * 1000) / perSecond
    const waitMs = dueMs - performance.now()
    if (waitMs > 0) await setTimeout(waitMs)
    const lane = lanes[sent % CONNECTIONS]
    if (lane === undefined) continue
    lane.last = askAfter(lane.last, lane, dueMs)
  }
  await Promise.all(lanes.map(({ last }) => last))
  return tally.report()
}
