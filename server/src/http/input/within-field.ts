import { ApiError } from '../../platform/api-error.ts'

/** Runs `judge` and prefixes the `field` of its ApiError with `place`, such as `policies[2]`. */
export function withinField<T>(place: string, judge: () => T): T {
  try {
    return judge()
  } catch (error) {
    throw atPlace(place, error)
  }
}

/** Like `withinField`, for asynchronous work. */
export async function withinFieldInTurns<T>(place: string, judge: () => Promise<T>): Promise<T> {
  try {
    return await judge()
  } catch (error) {
    throw atPlace(place, error)
  }
}

function atPlace(place: string, error: unknown): unknown {
  if (!(error instanceof ApiError)) return error
  const { status, code, message, reason, headers } = error
  const field = error.field === undefined ? place : `${place}.${error.field}`
  return new ApiError(status, code, message, { reason, headers, field, cause: error })
}
