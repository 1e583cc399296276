import { isDeepStrictEqual } from 'node:util'
import type { CompileOptions, PolicySet } from '@palisade/policy-core'
import { referenceDecide } from '../policy-core/reference/reference-decide.ts'
import { readPolicySet, type ReferenceSet } from '../policy-core/reference/reference-rules.ts'
import type { Evaluation, Evaluator } from './evaluator.ts'

/** What two readings of the same policies answer differently. */
export interface Difference {
  /** `compile` when one accepts the policies and the other does not; nothing was asked then. */
  readonly call: 'compile' | 'decide' | 'explain'
  readonly request: unknown
  /** What it should be: the reference's decision, or for `explain` the one of `decide`. */
  readonly expected: unknown
  readonly answered: unknown
}

/** The policies, ready in both readings. */
export interface Prepared {
  readonly evaluation: Evaluation
  readonly reference: ReferenceSet
}

/**
 * Makes policies ready in both readings, or says that only one of them accepts them; null when
 * both refuse them, which is no difference.
 */
export function prepare(
  evaluator: Evaluator,
  set: PolicySet,
  options: CompileOptions,
): Prepared | Difference | null {
  const evaluation = outcomeOf(() => evaluator(set, options))
  const reference = outcomeOf(() => readPolicySet(set, options))
  if ('value' in evaluation && 'value' in reference)
    return { evaluation: evaluation.value, reference: reference.value }
  const verdict = (outcome: object): unknown => ('value' in outcome ? 'accepted' : outcome)
  const [expected, answered] = [verdict(reference), verdict(evaluation)]
  if (expected !== 'accepted' && answered !== 'accepted') return null
  return { call: 'compile', request: null, expected, answered }
}

export interface Asked {
  readonly request: unknown
  /** Whether `explain` is asked too: on large sets it takes long. */
  readonly explained: boolean
}

/**
 * Compares the whole decision with the reference's, but for the hint, which is for people; then the
 * decision inside the explanation with that. An evaluator that throws has answered with its error.
 */
export function findDifference(
  { evaluation, reference }: Prepared,
  { request, explained }: Asked,
): Difference | null {
  const expected = referenceDecide(reference, request)
  const decision = answerOf(() => evaluation.decide(request))
  if (!isDeepStrictEqual(without(decision, ['hint']), expected))
    return { call: 'decide', request, expected, answered: decision }
  if (!explained) return null
  const answered = answerOf(() => evaluation.explain(request))
  return isDeepStrictEqual(without(answered, ['matched', 'near_misses', 'detail']), decision)
    ? null
    : { call: 'explain', request, expected: decision, answered }
}

function answerOf(ask: () => object): object {
  const outcome = outcomeOf(ask)
  return 'value' in outcome ? outcome.value : outcome
}

function outcomeOf<T>(work: () => T): { readonly value: T } | { readonly thrown: string } {
  try {
    return { value: work() }
  } catch (error) {
    return { thrown: String(error) }
  }
}

function without(answer: object, members: readonly string[]): object {
  return Object.fromEntries(Object.entries(answer).filter(([member]) => !members.includes(member)))
}
