import type { ErrorCode } from '@palisade/protocol'

export interface ApiErrorOptions {
  /** Finer than `code`, such as `domain_mismatch`. */
  readonly reason?: string | undefined
  /** The member at fault, such as `name` or `resources[2]`. */
  readonly field?: string | undefined
  /** Response headers that belong to the refusal, such as `Allow` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly cause?: unknown
}

/**
 * A refusal that the caller may see: HTTP status, stable code of the contract, and a short
 * lower-case sentence. Anything else that is thrown while a request is served is a bug and is
 * answered `internal`.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: ErrorCode
  readonly reason: string | undefined
  readonly field: string | undefined
  readonly headers: Readonly<Record<string, string>> | undefined

  constructor(status: number, code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.status = status
    this.code = code
    this.reason = options.reason
    this.field = options.field
    this.headers = options.headers
  }
}

/** 401: missing or invalid credentials. */
export function unauthenticated(message: string): ApiError {
  return new ApiError(401, 'unauthenticated', message, {
    headers: { 'www-authenticate': 'Bearer' },
  })
}

/** 401: missing or invalid credentials of a machine, which proves its key (RFC 9449). */
export function unauthenticatedDevice(message: string): ApiError {
  return new ApiError(401, 'unauthenticated', message, {
    headers: { 'www-authenticate': 'DPoP algs="EdDSA"' },
  })
}

/** 404: the object does not exist, or must stay hidden from this caller. */
export function notFound(message: string): ApiError {
  return new ApiError(404, 'not_found', message)
}

/** 403: the caller lacks a permission, or the organization the entitlement. */
export function permissionDenied(message: string): ApiError {
  return new ApiError(403, 'permission_denied', message)
}

/** 400: the request itself is at fault; `field` names the member. */
export function invalidArgument(
  message: string,
  options: { readonly field?: string | undefined; readonly reason?: string | undefined } = {},
): ApiError {
  return new ApiError(400, 'invalid_argument', message, options)
}

/** 410: it was there, and was removed for good. */
export function gone(
  message: string,
  options: { readonly field: string; readonly reason: string },
): ApiError {
  return new ApiError(410, 'not_found', message, options)
}

/** 409: the request contradicts stored data, such as a name already in use. */
export function conflict(message: string): ApiError {
  return new ApiError(409, 'conflict', message)
}

/** 403: a creation limit is reached. */
export function limitExceeded(message: string): ApiError {
  return new ApiError(403, 'limit_exceeded', message)
}

/** 500: does not reveal the cause inside. */
export function internal(): ApiError {
  return new ApiError(500, 'internal', 'internal server error')
}
