import { denyFor } from '../lookup/verdict.ts'
import { slotOf } from '../policy/policy.ts'
import { answer, answerUnresolved } from './answer.ts'
import { requireCompiled, type CompiledPolicy } from './compiled-policy.ts'
import { decidePlain } from './decide-plain.ts'
import type { Decision, UnavailableReason } from './decision.ts'
import { evaluate, isUnresolved } from './evaluate.ts'
import { hintFor } from './hint.ts'
import { parseMembers, parseRequest, readMembers, type RequestMembers } from './request.ts'

/** State of the machine that a decision echoes. */
export interface DecideOptions {
  /**
   * Whether the bundle is older than its freshness limit; echoed in the decision. Default false.
   */
  readonly stale?: boolean | undefined
}

const INVALID = denyFor('invalid_request')

/**
 * Decides one request: a matching deny wins, then a matching allow, otherwise deny. The function is
 * pure and does no I/O. It never throws because of a request: an invalid request is denied with
 * `invalid_request`. Throws `PolicyError` with `ERR_OPTION_INVALID` for a policy that is not
 * compiled.
 *
 * A request is a `DecisionRequest`. The parameter takes any value, because requests come from
 * outside. For an allowed name without `address` the answer carries `address_required`: resolve the
 * name once, ask again with each address, and dial only an allowed address.
 *
 * The time depends on the length of the request, not on the number of rules, with two exceptions.
 * Listing the deciding rules takes O(rules in the answer), unless the list is still kept from an
 * earlier request; a list for a name with its address is never kept. Path patterns with very many
 * `*` and `**` that match part of a path at once are followed one by one.
 */
export function decide(
  policy: CompiledPolicy,
  request: unknown,
  options?: DecideOptions,
): Decision {
  requireCompiled('policy', policy)
  // Read before the getters of the request run, which may be caller code.
  const isStale = options?.stale === true
  const decision = decideFresh(policy, readMembers(request))
  return isStale ? { ...decision, stale: true } : decision
}

function decideFresh(policy: CompiledPolicy, members: RequestMembers | string): Decision {
  if (typeof members === 'string') return answer(INVALID, null, policy.revision, null)
  return decidePlain(policy, members) ?? decideCarefully(policy, members)
}

function decideCarefully(policy: CompiledPolicy, members: RequestMembers): Decision {
  const { revision } = policy
  const read = parseMembers(members)
  if (!read.ok) return answer(INVALID, null, revision, null)
  const { value } = read
  const { canonical } = value
  const verdict = evaluate(policy, value)
  const dress =
    value.kind === 'connect' &&
    value.address === null &&
    isUnresolved(policy, verdict, slotOf(value.action))
      ? answerUnresolved
      : answer
  return dress(verdict, canonical, revision, hintFor(verdict.reason, canonical))
}

/**
 * The decision of a machine without a usable bundle: it is missing, expired or unsupported. Always
 * a deny. `revision` is null unless given.
 */
export function denyUnavailable(
  reason: UnavailableReason,
  request: unknown,
  options: DecideOptions & { readonly revision?: number | null | undefined } = {},
): Decision {
  const read = parseRequest(request)
  const canonical = read.ok ? read.value.canonical : null
  const deny = answer(denyFor(reason), canonical, options.revision ?? null, null)
  return { ...deny, stale: options.stale ?? false }
}
