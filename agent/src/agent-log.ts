import { writeSync } from 'node:fs'
import type { DestinationStream, Logger } from 'pino'
import type { ActivePolicy, MachineDecision } from './decision/active-policy.ts'
import type { Poller } from './sync/update/poller.ts'

/** The levels that the agent writes. */
export type AgentLog = Pick<Logger, 'error' | 'warn' | 'info' | 'debug'>

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

/** Writes a line for each decision that a program was given, at the level for debugging. */
export function logDecision(made: MachineDecision, log: Pick<AgentLog, 'debug'>): void {
  const { decision, reason, request, revision, break_glass } = made
  log.debug({ decision, reason, request, revision, break_glass }, 'decided')
}

/** Writes a line after each attempt to fetch. */
export function logOutcomes(poller: Pick<Poller, 'subscribe'>, log: AgentLog): void {
  poller.subscribe(({ outcome, revision, error }) => {
    if (outcome === 'failed') log.warn({ revision, error }, 'sync failed')
    else log.info({ outcome, revision }, 'sync succeeded')
  })
}

/**
 * Writes log lines to an open file. A line that cannot be written is lost, and nothing else: pino's
 * own destination raises the error, and at the end of the process waits for ever for room on a
 * full disk, deciding nothing and holding the socket.
 */
export function createLogDestination(descriptor: number): DestinationStream {
  return {
    write(line) {
      try {
        const bytes = Buffer.from(line)
        for (let start = 0; start < bytes.byteLength;) start += writeSync(descriptor, bytes, start)
      } catch {
        // There is no better place to say so.
      }
    },
  }
}
