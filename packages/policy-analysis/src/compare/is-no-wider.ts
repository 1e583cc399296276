import { decide, type CompiledPolicy } from '@palisade/policy-core'
import { listInstants } from '@palisade/policy-core/internal'
import { readComparison } from './compare.ts'
import type { CompareOptions, NoWider } from './comparison.ts'
import { createSearches } from './searches.ts'
import { firstFound } from './meter.ts'

/** Maximum number of instants that are compared. */
const MAX_INSTANTS = 100

/**
 * Tells whether `after` allows only requests that `before` allows. `yes` holds for every possible
 * request, and `no` comes with a witness. `unknown` means that `maxSteps` were used up.
 *
 * With rules that expire, `yes` holds from `options.now` on for ever: both policies are compared at
 * that time and at every later expiry, with `maxSteps` each. More than a hundred of them give
 * `unknown`, unless an answer is found before.
 *
 * Throws as `compare` does.
 */
export function isNoWider(
  before: CompiledPolicy,
  after: CompiledPolicy,
  options: CompareOptions = {},
): NoWider {
  const { now } = options
  const present = isNoWiderAt(before, after, options)
  const later = listInstants([before, after], now)
  if (present.answer !== 'yes' || later.length === 0) return present
  for (const instant of later.slice(0, MAX_INSTANTS)) {
    const then = isNoWiderAt(before, after, { ...options, now: instant })
    if (then.answer !== 'yes') return then
  }
  return later.length > MAX_INSTANTS
    ? { answer: 'unknown', why: `rules expire at more than ${MAX_INSTANTS} different times` }
    : present
}

function isNoWiderAt(
  before: CompiledPolicy,
  after: CompiledPolicy,
  options: CompareOptions,
): NoWider {
  const { older, newer, meters } = readComparison(before, after, options)
  const result = firstFound(createSearches(older, newer, meters), ({ first }) => first())
  switch (result.kind) {
    case 'none':
      return { answer: 'yes' }
    case 'found': {
      const witness = result.value
      const { now } = options
      return {
        answer: 'no',
        witness,
        ...(now === undefined ? {} : { at: now }),
        before: decide(before, witness, { now }),
        after: decide(after, witness, { now }),
      }
    }
    case 'unknown':
      return {
        answer: 'unknown',
        why:
          'the budget of steps was used up before every difference was looked at; ' +
          'give a larger `maxSteps`',
      }
  }
}
