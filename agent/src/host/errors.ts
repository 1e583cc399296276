/**
 * Every error that the agent throws on purpose. All of them end its program: with exit code 1 when
 * another start may succeed, and with 78 when a setting has to change.
 *
 * - `ERR_CONFIG_INVALID`: environment variables are invalid; one line for each problem.
 * - `ERR_ENROLMENT_INVALID`: the enrolment or key file is missing, open to others, or invalid.
 * - `ERR_ENROLMENT_REFUSED`: the server refuses the enrolment token.
 * - `ERR_LOCAL_POLICIES_INVALID`: the user's own rules do not compile; one line for each problem.
 * - `ERR_DATA_DIRECTORY`: the data directory cannot be created or is not private.
 * - `ERR_LOCKED`: another agent uses the data directory, or answers on the socket.
 * - `ERR_SOCKET`: the socket of the local API cannot be created.
 * - `ERR_MACHINE_ADDRESSES`: the addresses of this machine cannot be read.
 * - `ERR_PROXY_PORT`: the port of the proxy is in use or not permitted.
 * - `ERR_SERVICE`: the unit of the agent cannot be installed or removed.
 */
export class AgentError extends Error {
  override readonly name = 'AgentError'
  readonly code:
    | 'ERR_CONFIG_INVALID'
    | 'ERR_ENROLMENT_INVALID'
    | 'ERR_ENROLMENT_REFUSED'
    | 'ERR_LOCAL_POLICIES_INVALID'
    | 'ERR_DATA_DIRECTORY'
    | 'ERR_LOCKED'
    | 'ERR_SOCKET'
    | 'ERR_MACHINE_ADDRESSES'
    | 'ERR_PROXY_PORT'
    | 'ERR_SERVICE'
  /** One line for each problem, for people; never empty. */
  readonly problems: readonly string[]

  constructor(code: AgentError['code'], problems: readonly string[], cause?: unknown) {
    super(problems.join('; '), cause === undefined ? undefined : { cause })
    this.code = code
    this.problems = problems
  }

  /** Whether another start may succeed with the same settings. */
  get isTransient(): boolean {
    if (this.code === 'ERR_LOCKED' || this.code === 'ERR_MACHINE_ADDRESSES') return true
    return TRANSIENT.has(systemErrorCode(this.cause) ?? '')
  }
}

/** System errors that may end without a change of settings. */
const TRANSIENT: ReadonlySet<string> = new Set([
  'EADDRINUSE',
  'EADDRNOTAVAIL',
  'EAGAIN',
  'EBUSY',
  'EDQUOT',
  'EIO',
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'ENOSPC',
])

/** The `code` of a system error (`ENOENT`), or null for any other value. */
export function systemErrorCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}
