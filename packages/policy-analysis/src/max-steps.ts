import { PolicyError } from '@palisade/policy-core'
import { quote, show } from '@palisade/policy-core/internal'

/** Throws `ERR_OPTION_INVALID` unless `maxSteps` is a positive whole number. */
export function requireSteps(maxSteps: number): number {
  if (Number.isSafeInteger(maxSteps) && maxSteps >= 1) return maxSteps
  throw new PolicyError(
    'ERR_OPTION_INVALID',
    `${quote('maxSteps')}: ${show(maxSteps)} is not a positive whole number`,
  )
}
