import type { CompiledPolicy } from '../decision/compiled-policy.ts'
import { decide } from '../decision/decide.ts'
import { readComparison } from './compare.ts'
import type { CompareOptions, NoWider } from './comparison.ts'
import { createInquiries } from './inquiries.ts'
import { firstFound } from './meter.ts'

/**
 * Tells whether `after` allows only requests that `before` allows. `yes` holds for every possible
 * request, and `no` comes with a witness. `unknown` means that `maxSteps` were used up.
 *
 * Throws as `compare` does.
 */
export function isNoWider(
  before: CompiledPolicy,
  after: CompiledPolicy,
  options: CompareOptions = {},
): NoWider {
  const { older, newer, meters } = readComparison(before, after, options)
  const result = firstFound(createInquiries(older, newer, meters), ({ first }) => first())
  switch (result.kind) {
    case 'none':
      return { answer: 'yes' }
    case 'found': {
      const witness = result.value
      return {
        answer: 'no',
        witness,
        before: decide(before, witness),
        after: decide(after, witness),
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
