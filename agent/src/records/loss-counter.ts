import type { AgentStatus, LossReason } from '@palisade/protocol'
import type { Loss } from './record-chain.ts'

/**
 * Counts lost events by their reason until they are recorded. Like equal decisions, the first are
 * due at once, and later ones after a minute.
 */
export interface LossCounter {
  add(lost: number, reason: LossReason, atMs: number): void
  /** When losses are due, in epoch milliseconds; null without any. */
  dueMs(): number | null
  /** Takes the losses if they are due, or in any case. */
  take(nowMs: number | 'all'): readonly Loss[]
  /** Makes losses due again that could not be recorded. */
  putBack(taken: readonly Loss[]): void
  /** All since the start. */
  sum(): Pick<NonNullable<AgentStatus['records']>, 'lost' | 'last_loss'>
}

export function createLossCounter({ windowMs }: { readonly windowMs: number }): LossCounter {
  const unrecorded = new Map<LossReason, Loss>()
  let takenMs = -Infinity
  let total = 0
  let last: NonNullable<AgentStatus['records']>['last_loss'] = null

  const keep = ({ lost, reason, atMs }: Loss): void => {
    const former = unrecorded.get(reason)
    unrecorded.set(reason, { lost: lost + (former?.lost ?? 0), reason, atMs })
  }

  /** A clock that was set back must not make them wait for long. */
  const isDue = (nowMs: number): boolean => nowMs < takenMs || nowMs >= takenMs + windowMs

  return {
    add(lost, reason, atMs) {
      if (lost === 0) return
      total += lost
      last = { at: new Date(atMs).toISOString(), reason }
      keep({ lost, reason, atMs })
    },
    dueMs: () => (unrecorded.size === 0 ? null : takenMs + windowMs),
    take(nowMs) {
      if (unrecorded.size === 0 || (nowMs !== 'all' && !isDue(nowMs))) return []
      if (nowMs !== 'all') takenMs = nowMs
      const taken = [...unrecorded.values()]
      unrecorded.clear()
      return taken
    },
    putBack(taken) {
      if (taken.length > 0) takenMs = -Infinity
      taken.forEach(keep)
    },
    sum: () => ({ lost: total, last_loss: last }),
  }
}
