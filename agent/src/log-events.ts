import type { AgentLog } from './host/agent-log.ts'
import type { ActivePolicy, MachineDecision } from './policy/decision/active-policy.ts'
import type { Poller } from './sync/update/poller.ts'

/** Logs each change of the machine's state. */
export function logStates(active: ActivePolicy, log: AgentLog): void {
  let former = active.state()
  active.subscribe(() => {
    const state = active.state()
    if (state === former) return
    const line = { state, former, revision: active.revision() }
    former = state
    if (state === 'fresh') log.info(line, 'state changed')
    else log.warn(line, 'state changed')
  })
}

/** Logs each decision given to a program, at debug level. */
export function logDecision(made: MachineDecision, log: Pick<AgentLog, 'debug'>): void {
  const { decision, reason, request, revision, break_glass } = made
  log.debug({ decision, reason, request, revision, break_glass }, 'decided')
}

/** Logs each fetch attempt. */
export function logOutcomes(poller: Pick<Poller, 'subscribe'>, log: AgentLog): void {
  poller.subscribe(({ outcome, revision, error }) => {
    if (outcome === 'failed') log.warn({ revision, error }, 'sync failed')
    else log.info({ outcome, revision }, 'sync succeeded')
  })
}
