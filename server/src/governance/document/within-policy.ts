import { ApiError } from '../../platform/api-error.ts'
import { quote } from '../../http/input/describe-issue.ts'

/** Runs `check` and adds the name of the policy to its errors, because a document has many. */
export function withinPolicy<T>(name: string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const message = `policy ${quote(name)}: ${error.message}`
    throw new ApiError(error.status, error.code, message)
  }
}
