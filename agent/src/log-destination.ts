import { writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

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
