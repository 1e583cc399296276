import type { Decision, Explanation } from '@palisade/policy-core'

/**
 * Limit for each list of rules in an answer. Tens of thousands of rules may match one request.
 * Answers of megabytes would block the agent's only thread and stay in memory until they are read.
 */
const MAX_LISTED = 100

/**
 * A decision as the agent answers it; `rules_omitted` is absent when all deciding rules are listed.
 */
export type ListedDecision<D extends Decision = Decision> = D & { readonly rules_omitted?: number }

/** An explanation as the agent answers it; `matched_omitted` counts deciding rules too. */
export type ListedExplanation<E extends Explanation = Explanation> = ListedDecision<E> & {
  readonly matched_omitted?: number
}

/** Keeps the first deciding rules and counts the others; policy-core lists all of them. */
export function listDecision<D extends Decision>(decision: D): ListedDecision<D> {
  const { rules, shadow } = decision
  if (shadow !== undefined && shadow.rules.length > MAX_LISTED) {
    const listed = { ...shadow, rules: shadow.rules.slice(0, MAX_LISTED) }
    return listDecision({ ...decision, shadow: listed })
  }
  if (rules.length <= MAX_LISTED) return decision
  return {
    ...decision,
    rules: rules.slice(0, MAX_LISTED),
    rules_omitted: rules.length - MAX_LISTED,
  }
}

/**
 * Shortens an explanation likewise. It keeps the first deciding rules and the first of the others,
 * so that deciding rules do not crowd out an inactive one.
 */
export function listExplanation<E extends Explanation>(explanation: E): ListedExplanation<E> {
  const { matched } = explanation
  const left = { deciding: MAX_LISTED, other: MAX_LISTED }
  const kept = matched.filter(({ deciding }) => (left[deciding ? 'deciding' : 'other'] -= 1) >= 0)
  const listed = listDecision(explanation)
  if (kept.length === matched.length) return listed
  return { ...listed, matched: kept, matched_omitted: matched.length - kept.length }
}
