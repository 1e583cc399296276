import type { SyncResult } from '@palisade/protocol'
import type { AgentLog } from '../../host/agent-log.ts'
import type { ActivePolicy } from '../../policy/decision/active-policy.ts'
import { describeSync } from './sync-status.ts'
import { type Poller, createSpacedDemand } from './poller.ts'
import type { Synchronizer } from './synchronizer.ts'

/** The answers of the local API to `sync` and `import`. */
export function answerSync(deps: {
  readonly active: Pick<ActivePolicy, 'inForce'>
  readonly synchronizer: Pick<Synchronizer, 'awaited' | 'import'>
  readonly poller: Pick<Poller, 'demand' | 'inTurn'>
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  readonly log: Pick<AgentLog, 'info' | 'warn'>
}): {
  readonly sync: () => Promise<SyncResult>
  readonly import: (body: readonly Uint8Array[]) => Promise<SyncResult>
} {
  const { active, synchronizer, poller, uptime, log } = deps
  const demand = createSpacedDemand(poller.demand, uptime)
  return {
    async sync() {
      const outcome = await demand()
      return describeSync(outcome, active.inForce(), synchronizer.awaited())
    },
    async import(body) {
      const { outcome, revision, error } = await poller.inTurn((signal) =>
        synchronizer.import(body, signal),
      )
      if (outcome === 'failed') log.warn({ revision, error }, 'bundle file refused')
      else log.info({ outcome, revision }, 'bundle file imported')
      return { outcome, revision, error, in_force: active.inForce() }
    },
  }
}
