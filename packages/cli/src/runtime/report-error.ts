import { ClientError } from '@palisade/client'
import { printable } from '../terminal/printable.ts'
import { CliError } from './cli-error.ts'
import { EXIT } from './exit-code.ts'

/** Message and exit code for a failure. */
export interface ErrorReport {
  readonly exitCode: number
  /** Ends in a newline. */
  readonly text: string
}

/** Turns any thrown value into lines for standard error; adds a stack only with `debug`. */
export function reportError(error: unknown, debug: boolean): ErrorReport {
  const { exitCode, lines } = describe(error)
  const text = lines.map((line) => `error: ${printable(line)}\n`).join('')
  return { exitCode, text: debug ? text + formatStack(error) : text }
}

function describe(error: unknown): {
  readonly exitCode: number
  readonly lines: readonly string[]
} {
  if (error instanceof CliError) return error
  if (error instanceof ClientError) return { exitCode: exitCodeOf(error), lines: [lineOf(error)] }
  const id = reportId(error)
  return {
    exitCode: EXIT.bug,
    lines: [`unexpected failure, report id ${id}; add \`--debug\` to see where`],
  }
}

function exitCodeOf(error: ClientError): number {
  switch (error.code) {
    case 'ERR_SERVER_URL_INVALID':
    case 'ERR_ARGUMENT_INVALID':
      return EXIT.usage
    default:
      return EXIT.failed
  }
}

function lineOf(error: ClientError): string {
  const { api } = error
  if (api === undefined) return `${error.message} (${error.code})`
  // Most messages name the member already.
  const field = api.field === undefined || api.message.includes(api.field) ? '' : `${api.field}: `
  const id = api.status >= 500 && api.request_id !== undefined ? `, request ${api.request_id}` : ''
  return `${field}${api.message} (${api.reason ?? api.code}${id})`
}

/** Equal for equal failures, so that reports of one defect can be matched. */
function reportId(error: unknown): string {
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error)
  // Loaded only here: most runs do not need it, and it is slow to load (bench: sandbox/client).
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256').update(trace).digest('hex').slice(0, 8)
}

function formatStack(error: unknown): string {
  if (!(error instanceof Error)) return `${printable(String(error))}\n`
  const own = (error.stack ?? error.message).split('\n').map(printable).join('\n')
  return error.cause === undefined ? `${own}\n` : `${own}\ncaused by ${formatStack(error.cause)}`
}
