import { writeSync } from 'node:fs'
import { pino, type DestinationStream, type Logger, type LoggerOptions } from 'pino'
import { concealSecrets } from './conceal-secrets.ts'

/** How much is logged, and where to; standard output by default. */
export interface LogSettings {
  readonly level: string
  readonly stream?: DestinationStream | undefined
}

/** Lines of JSON, one for each event. */
export type Log = Logger

/** A log that conceals text in the form of a secret; `false` makes a log without output. */
export function createLog(settings: LogSettings | false): Log {
  if (settings === false) return pino({ enabled: false })
  const options: LoggerOptions = {
    level: settings.level,
    hooks: { streamWrite: concealSecrets },
  }
  return settings.stream === undefined ? pino(options) : pino(options, settings.stream)
}

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
