import type { Verdict } from '../lookup/verdict.ts'
import type { CanonicalRequest, Decision } from './decision.ts'

/** The bundle that decides, as far as decisions speak of it. */
export type Bundle = Pick<Decision, 'revision' | 'stale'>

/** Dresses a verdict as a decision. */
export function answer(
  { decision, reason, rules }: Verdict,
  request: CanonicalRequest | null,
  { revision, stale }: Bundle,
  hint: string | null,
): Decision {
  return { decision, reason, rules, request, revision, stale, hint }
}

/** The same for a name whose address could change the outcome. */
export function answerUnresolved(
  { decision, reason, rules }: Verdict,
  request: CanonicalRequest,
  { revision, stale }: Bundle,
  hint: string | null,
): Decision {
  return { decision, reason, rules, request, revision, stale, address_required: true, hint }
}
