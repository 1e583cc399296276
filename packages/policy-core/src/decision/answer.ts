import type { Verdict } from '../lookup/verdict.ts'
import type { CanonicalRequest, Decision } from '../policy/decision.ts'

/** Turns a verdict into a decision of a fresh bundle. */
export function answer(
  { decision, reason, rules }: Verdict,
  request: CanonicalRequest | null,
  revision: number | null,
  hint: string | null,
): Decision {
  return { decision, reason, rules, request, revision, stale: false, hint }
}

/** Like `answer`, for a name whose address could change the outcome. */
export function answerUnresolved(
  { decision, reason, rules }: Verdict,
  request: CanonicalRequest,
  revision: number | null,
  hint: string | null,
): Decision {
  return { decision, reason, rules, request, revision, stale: false, address_required: true, hint }
}
