import { StoreError } from '../../store/store-error.ts'
import {
  ApiError,
  conflict,
  internal,
  invalidArgument,
  notFound,
} from '../../platform/api-error.ts'

/**
 * Converts an error thrown while serving a request to a refusal. An error that is not meant for the
 * caller becomes `internal`, without its message.
 */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof StoreError) return refusalOfStore(error)
  return refusalOfFramework(error) ?? internal()
}

function refusalOfStore(error: StoreError): ApiError {
  switch (error.code) {
    case 'ERR_STORE_UNAVAILABLE':
    case 'ERR_STORE_SCHEMA_CHANGED':
      return new ApiError(503, 'internal', 'the service is temporarily unavailable', {
        headers: { 'retry-after': '5' },
        cause: error,
      })
    case 'ERR_STORE_FULL':
      return new ApiError(
        503,
        'internal',
        'the disk of the server is nearly full; try again later',
        { headers: { 'retry-after': '300' }, cause: error },
      )
    case 'ERR_STORE_SCHEMA_DAMAGED':
      return new ApiError(
        503,
        'internal',
        "the database's schema is damaged; its operator must restore a backup",
        { headers: { 'retry-after': '5' }, cause: error },
      )
    case 'ERR_STORE_CONFLICT':
      return conflict('this conflicts with another request that was just stored')
    case 'ERR_STORE_NOT_FOUND':
      return notFound('this no longer exists')
    case 'ERR_STORE_SCHEMA_TOO_NEW':
    case 'ERR_STORE_SCHEMA_TOO_OLD':
    case 'ERR_STORE_ABSENT':
    case 'ERR_STORE_FOREIGN':
      return internal()
  }
}

/** Converts the errors of Fastify that a client can cause. */
function refusalOfFramework(error: unknown): ApiError | null {
  switch (error instanceof Error && 'code' in error ? error.code : null) {
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return notFound('no such path')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'ECONNRESET':
      return invalidArgument('the body ended before its announced length')
    default:
      return null
  }
}
