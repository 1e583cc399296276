import { createCredit } from '../hint/credit.ts'
import type { SyncOutcome } from './synchronizer.ts'

/** Attempts that may follow each other at once; then one for each second that passes. */
const AT_ONCE = 30
const SPACE_MS = 1_000

export interface SpacedDemandDeps {
  /** An attempt that begins after this call. */
  readonly demand: () => Promise<SyncOutcome>
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  readonly rest: (ms: number) => Promise<void>
}

/**
 * Spaces the attempts that local programs ask for, so that none of them can keep the server busy by
 * this machine. All who ask while one is waited for share it: it begins after they have asked.
 */
export function createSpacedDemand(deps: SpacedDemandDeps): () => Promise<SyncOutcome> {
  const credit = createCredit(AT_ONCE * SPACE_MS, deps.uptime)
  let awaited: Promise<SyncOutcome> | null = null

  function begin(): Promise<SyncOutcome> {
    awaited = null
    credit.spend(SPACE_MS)
    return deps.demand()
  }

  return () => {
    if (awaited !== null) return awaited
    const owedMs = credit.owedMs()
    if (owedMs === 0) return begin()
    awaited = deps.rest(owedMs).then(begin)
    return awaited
  }
}
