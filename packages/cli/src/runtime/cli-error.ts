import { EXIT } from './exit-code.ts'

/** Every code that a `CliError` can carry. */
export type CliErrorCode =
  | 'ERR_USAGE'
  | 'ERR_AGENT'
  | 'ERR_ACCESS'
  | 'ERR_POLICY_FILE'
  | 'ERR_INPUT_UNREADABLE'
  | 'ERR_NOT_FOUND'
  | 'ERR_CONFIGURATION'
  | 'ERR_FILE_NOT_WRITTEN'
  | 'ERR_OUTPUT'
  | 'ERR_CANCELLED'
  | 'ERR_PLAN_STALE'
  | 'ERR_NEWLY_DENIED'
  | 'ERR_NO_EVIDENCE'
  | 'ERR_OUTCOME_UNKNOWN'

/** An expected failure, printed as its lines without a stack. Sets the exit code of the process. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: CliErrorCode
  readonly exitCode: number
  /** One problem a line; never empty. */
  readonly lines: readonly string[]

  constructor(
    code: CliErrorCode,
    exitCode: number,
    lines: string | readonly string[],
    options?: ErrorOptions,
  ) {
    const all = typeof lines === 'string' ? [lines] : lines
    super(all.join('\n'), options)
    this.code = code
    this.exitCode = exitCode
    this.lines = all
  }
}

/** Creates the error for a wrong command line. The message includes the correction. */
export function usageError(message: string): CliError {
  return new CliError('ERR_USAGE', EXIT.usage, message)
}

/** Creates the error for missing or broken credentials or settings. */
export function configurationError(message: string, cause?: unknown): CliError {
  return new CliError('ERR_CONFIGURATION', EXIT.configuration, message, { cause })
}
