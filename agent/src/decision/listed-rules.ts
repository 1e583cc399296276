import type { Decision, Explanation } from '@palisade/policy-core'

/**
 * Of each list of rules in an answer. Tens of thousands of rules may match one request; every
 * denied program would be sent megabytes, which cost the agent's only thread and stay in memory
 * until they are read.
 */
const MAX_LISTED = 100

/**
 * A decision as the agent answers it; `rules_omitted` is absent where all deciding rules are
 * listed.
 */
export type ListedDecision<D extends Decision = Decision> = D & { readonly rules_omitted?: number }

/** Likewise; `matched_omitted` counts deciding rules too. */
export type ListedExplanation<E extends Explanation = Explanation> = ListedDecision<E> & {
  readonly matched_omitted?: number
}

/** Keeps the first deciding rules and counts the others; policy-core lists all. */
export function listDecision<D extends Decision>(decision: D): ListedDecision<D> {
  const { rules } = decision
  if (rules.length <= MAX_LISTED) return decision
  return {
    ...decision,
    rules: rules.slice(0, MAX_LISTED),
    rules_omitted: rules.length - MAX_LISTED,
  }
}

/**
 * The same of an explanation. Of the rules that matched, the first deciding ones and the first of
 * the others are kept: an inactive rule shall not disappear behind those that decided.
 */
export function listExplanation<E extends Explanation>(explanation: E): ListedExplanation<E> {
  const { matched } = explanation
  const left = { deciding: MAX_LISTED, other: MAX_LISTED }
  const kept = matched.filter(({ deciding }) => (left[deciding ? 'deciding' : 'other'] -= 1) >= 0)
  const listed = listDecision(explanation)
  if (kept.length === matched.length) return listed
  return { ...listed, matched: kept, matched_omitted: matched.length - kept.length }
}
