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
