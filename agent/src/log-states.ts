import type { AgentLog } from './agent.ts'
import type { ActivePolicy } from './decision/active-policy.ts'

/** Writes a line whenever the machine is in another state. */
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
