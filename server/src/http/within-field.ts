import { ApiError } from './api-error.ts'

/** Runs `judge`; the `field` of what it refuses is named from `place`, such as `policies[2]`. */
export function withinField<T>(place: string, judge: () => T): T {
  try {
    return judge()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { status, code, message, reason, headers } = error
    const field = error.field === undefined ? place : `${place}.${error.field}`
    throw new ApiError(status, code, message, { reason, headers, field, cause: error })
  }
}
