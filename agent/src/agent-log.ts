import { writeSync } from 'node:fs'
import type { DestinationStream, Logger } from 'pino'
import type { ActivePolicy, MachineDecision } from './decision/active-policy.ts'
import type { Poller } from './sync/update/poller.ts'

/** Log levels that the agent uses. */
export type AgentLog = Pick<Logger, 'error' | 'warn' | 'info' | 'debug'>

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

/**
 * Writes log lines to an open file. A line that cannot be written is lost without an error. pino's
 * own destination raises the error, and on a full disk waits for room at exit: the process then
 * decides no requests but still holds the socket.
 */
export function createLogDestination(descriptor: number): DestinationStream {
  return {
    write(line) {
      try {
        const bytes = Buffer.from(line)
        for (let start = 0; start < bytes.byteLength;) start += writeSync(descriptor, bytes, start)
      } catch {
        // The log is the only place to report it.
      }
    },
  }
}
