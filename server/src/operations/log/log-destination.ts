import { writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

/**
 * Standard output; a line that does not fit on a full disk is lost. pino's own destination would
 * wait for room for ever at the end of the process.
 */
export function createLogDestination(descriptor: number): DestinationStream {
  return {
    write(line) {
      try {
        const bytes = Buffer.from(line)
        for (let start = 0; start < bytes.byteLength;) start += writeSync(descriptor, bytes, start)
      } catch {
        // The log itself has failed, so there is no place to report it.
      }
    },
  }
}
