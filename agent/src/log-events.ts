import { QUESTION_POINT } from '@palisade/protocol'
import type { AgentLog } from './host/agent-log.ts'
import type { ActivePolicy } from './policy/decision/active-policy.ts'
import type { DecisionTally } from './policy/decision/decision-tally.ts'
import type { Canaries } from './probe/proxy/canaries.ts'
import type { RecordedEvent } from './records/recorded-event.ts'
import type { Recorder } from './records/recorder.ts'
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

/** Records, counts and logs the events of all places that decide. */
export function noteEvents(to: {
  readonly recorder: Pick<Recorder, 'record'>
  readonly tally: Pick<DecisionTally, 'add'>
  readonly log: Pick<AgentLog, 'debug'>
  readonly isProbe: Canaries['isOwn']
}): (event: RecordedEvent) => void {
  return (event) => {
    if (to.isProbe(event.decision)) return
    to.recorder.record(event)
    if (event.flow !== undefined) return
    if (event.point !== QUESTION_POINT) to.tally.add(event.decision)
    const { decision, reason, request, revision, break_glass } = event.decision
    to.log.debug({ decision, reason, request, revision, break_glass }, 'decided')
  }
}

/** Logs each fetch attempt. */
export function logOutcomes(poller: Pick<Poller, 'subscribe'>, log: AgentLog): void {
  poller.subscribe(({ outcome, revision, error }) => {
    if (outcome === 'failed') log.warn({ revision, error }, 'sync failed')
    else log.info({ outcome, revision }, 'sync succeeded')
  })
}
