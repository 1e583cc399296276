import { ApiError } from '../../platform/api-error.ts'

/** Runs `run` and prefixes the `field` of its ApiError with `path`, such as `policies[2]`. */
export function withinField<T>(path: string, run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw prefixField(path, error)
  }
}

/** Like `withinField`, for asynchronous work. */
export async function withinFieldInTurns<T>(path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw prefixField(path, error)
  }
}

function prefixField(path: string, error: unknown): unknown {
  if (!(error instanceof ApiError)) return error
  const { status, code, message, reason, headers } = error
  const field = error.field === undefined ? path : `${path}.${error.field}`
  return new ApiError(status, code, message, { reason, headers, field, cause: error })
}
