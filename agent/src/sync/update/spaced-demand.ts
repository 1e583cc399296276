import { setTimeout as pause } from 'node:timers/promises'
import { createCredit } from '../../hint/credit.ts'
import type { SyncOutcome } from './synchronizer.ts'

/** Attempts that may follow each other at once; then one for each second that passes. */
const AT_ONCE = 30
const SPACE_MS = 1_000

/**
 * Spaces the attempts that local programs ask for, so that none of them can keep the server busy by
 * this machine. All who ask while one is waited for share it: it begins after they have asked. `uptime`
 * is monotonic, in milliseconds; `demand` begins an attempt after its call.
 */
export function createSpacedDemand(
  demand: () => Promise<SyncOutcome>,
  uptime: () => number,
  rest: (ms: number) => Promise<void> = (ms) => pause(ms, undefined, { ref: false }),
): () => Promise<SyncOutcome> {
  const credit = createCredit(AT_ONCE * SPACE_MS, uptime)
  let awaited: Promise<SyncOutcome> | null = null

  function begin(): Promise<SyncOutcome> {
    awaited = null
    credit.spend(SPACE_MS)
    return demand()
  }

  return () => {
    if (awaited !== null) return awaited
    const owedMs = credit.owedMs()
    if (owedMs === 0) return begin()
    awaited = rest(owedMs).then(begin)
    return awaited
  }
}
