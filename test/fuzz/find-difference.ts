import { isDeepStrictEqual } from 'node:util'
import type { CompileOptions, PolicySet } from '@palisade/policy-core'
import { referenceDecide } from '../policy-core/reference/reference-decide.ts'
import { readPolicySet, type ReferenceSet } from '../policy-core/reference/reference-rules.ts'
import type { Evaluation, Evaluator } from './evaluator.ts'

/** A difference between the two evaluators. */
export interface Difference {
  /** `compile` when only one evaluator accepts the policies; there is no request then. */
  readonly call: 'compile' | 'decide' | 'explain'
  readonly request: unknown
  /** The expected answer: the reference's decision, or for `explain` the one of `decide`. */
  readonly expected: unknown
  readonly answered: unknown
}

/** The policies as compiled by both evaluators. */
export interface Prepared {
  readonly evaluation: Evaluation
  readonly reference: ReferenceSet
}

/**
 * Compiles policies in both evaluators. Returns a difference when only one accepts them, or null
 * when both reject them.
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
  /** Whether to compare `explain` as well, which is slow on large sets. */
  readonly explained: boolean
}

/**
 * Compares the decision with the reference's, except for the hint, which has no meaning for access.
 * Then compares the decision within the explanation. A thrown error counts as the answer.
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
