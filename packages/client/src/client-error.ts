/** Every code that a `ClientError` can carry. Codes are never reused. */
export const CLIENT_ERROR_CODES = [
  /** The server's address is not an http or https URL without user part, query and fragment. */
  'ERR_SERVER_URL_INVALID',
  /** An argument cannot be sent, such as an id that is `..`. */
  'ERR_ARGUMENT_INVALID',
  /** No answer: refused, reset, unknown host, TLS failure. */
  'ERR_SERVER_UNREACHABLE',
  /** No complete answer in time. */
  'ERR_SERVER_TIMEOUT',
  /** The server answered with its error envelope; see `api`. */
  'ERR_API',
  /** An answer that is not of the protocol: redirect, HTML, too long, wrong shape. */
  'ERR_UNEXPECTED_ANSWER',
  /** No agent listens on the socket. */
  'ERR_AGENT_UNREACHABLE',
  'ERR_AGENT_TIMEOUT',
] as const
export type ClientErrorCode = (typeof CLIENT_ERROR_CODES)[number]

/** The content of an error envelope. `code` is one of the protocol's `ERROR_CODES`. */
export interface ApiFailure {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly reason?: string | undefined
  readonly field?: string | undefined
  readonly request_id?: string | undefined
  /** From `Retry-After`; null when absent. */
  readonly retryAfterMs: number | null
}

/** The one error of this package. Messages never hold a secret. */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  readonly code: ClientErrorCode
  /** Present exactly when `code` is `ERR_API`. */
  readonly api: ApiFailure | undefined

  constructor(
    code: ClientErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly api?: ApiFailure } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.api = options.api
  }
}

/** The error for an error envelope. */
export function apiError(failure: ApiFailure): ClientError {
  return new ClientError('ERR_API', failure.message, { api: failure })
}

/** An answer that does not follow the protocol. */
export function unexpected(what: string): ClientError {
  return new ClientError('ERR_UNEXPECTED_ANSWER', `unexpected answer: ${what}`)
}
