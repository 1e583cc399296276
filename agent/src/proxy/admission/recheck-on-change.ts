import type { AgentLog } from '../../host/agent-log.ts'
import type { ActivePolicy } from '../../policy/decision/active-policy.ts'
import { isSameRule } from '../../policy/decision/is-same-rule.ts'
import { runInTurns } from '../../policy/decision/run-in-turns.ts'
import type { LiveConnections } from './live-connections.ts'

/**
 * Decides the live connections again whenever another bundle, age or grant is enforced, and not at
 * every poll. The first turn runs at once; a further change restarts the pass. Returns a way to end
 * it.
 */
export function recheckOnChange(deps: {
  readonly active: Pick<ActivePolicy, 'enforced' | 'subscribe'>
  readonly live: Pick<LiveConnections, 'recheck'>
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  readonly log: Pick<AgentLog, 'info'>
  readonly onError: (error: unknown) => void
}): () => void {
  const { active, live, uptime, log, onError } = deps
  let former = active.enforced()
  let running = new AbortController()
  const recheckAll = async (signal: AbortSignal): Promise<void> => {
    const closed = await runInTurns(live.recheck(), signal, uptime)
    if (closed > 0) log.info({ closed }, 'closed connections that the policy now denies')
  }
  const unsubscribe = active.subscribe(() => {
    const present = active.enforced()
    if (isSameRule(former, present)) return
    former = present
    running.abort()
    running = new AbortController()
    const { signal } = running
    recheckAll(signal).catch((error: unknown) => {
      if (!signal.aborted) onError(error)
    })
  })
  return () => {
    unsubscribe()
    running.abort()
  }
}
