import type { ErrorEnvelope } from '@palisade/protocol'
import type { ApiError } from '../../platform/api-error.ts'

/** Formats the body of a refusal. */
export function formatError(error: ApiError, requestId: string): ErrorEnvelope {
  return {
    error: {
      code: error.code,
      message: error.message,
      ...(error.reason === undefined ? {} : { reason: error.reason }),
      ...(error.field === undefined ? {} : { field: error.field }),
      request_id: requestId,
    },
  }
}
