import {
  decide,
  denyUnavailable,
  explain,
  explainUnavailable,
  type Decision,
  type Explanation,
} from '@palisade/policy-core'
import type { Enforcement } from '../state/agent-state.ts'
import type { CompiledBundle } from './compile-bundle.ts'
import { applyExpiry } from './apply-expiry.ts'

type Enforced = Enforcement<CompiledBundle>

/** Hint for people beside `no_policy`: there is a policy, and its denies count. */
const CONFLICT = 'two organizations claim this machine, so nothing is allowed'

/** The trusted time, and the revision of a bundle that is not in force, for its denials. */
export interface Moment {
  readonly now: number
  readonly revision: number | null
}

/** Decides by the bundle as far as it counts. */
export function decideInForce(
  rule: Enforced,
  request: unknown,
  { now, revision }: Moment,
): Decision {
  if (rule.kind === 'nothing') return denyUnavailable(rule.reason, request, { revision })
  const made = decide(rule.bundle.compiled, request, { stale: rule.stale, now })
  return applyExpiry(rule, made, denyUnavailable, { hint: CONFLICT })
}

/** Explains the same decision. */
export function explainInForce(
  rule: Enforced,
  request: unknown,
  { now, revision }: Moment,
): Explanation {
  if (rule.kind === 'nothing') return explainUnavailable(rule.reason, request, { revision })
  const made = explain(rule.bundle.compiled, request, { stale: rule.stale, now })
  return applyExpiry(rule, made, explainUnavailable, { hint: CONFLICT, detail: null })
}
