import { writeSync } from 'node:fs'
import type { DestinationStream, Logger } from 'pino'

/** Log levels that the agent uses. */
export type AgentLog = Pick<Logger, 'error' | 'warn' | 'info' | 'debug'>

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
