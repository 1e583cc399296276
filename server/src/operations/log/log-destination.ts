import { writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

/**
 * Standard output as far as it takes what is written. pino's own destination waits for ever, at
 * the end of the process, for room on a full disk; here a line that finds none is lost.
 */
export function createLogDestination(descriptor: number): DestinationStream {
  return {
    write(line) {
      try {
        const bytes = Buffer.from(line)
        for (let start = 0; start < bytes.byteLength;) start += writeSync(descriptor, bytes, start)
      } catch {
        // Nobody is left to tell.
      }
    },
  }
}
