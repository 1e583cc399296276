import { denyFor } from '../lookup/verdict.ts'
import { slotOf } from '../policy/policy.ts'
import { answer, answerUnresolved } from './answer.ts'
import { requireCompiled, type CompiledPolicy, type Conditions } from './compiled-policy.ts'
import { readNow } from './conditions.ts'
import { decideFastPath } from './decide-fast-path.ts'
import type { Decision, UnavailableReason } from '../policy/decision.ts'
import { evaluate, isUnresolved } from './evaluate.ts'
import { hintFor } from './hint.ts'
import { parseMembers, parseRequest, readMembers, type RequestMembers } from './request.ts'

/** State of the machine that a decision echoes. */
export interface DecideOptions {
  /**
   * Whether the bundle is older than its freshness limit; echoed in the decision. Default false.
   */
  readonly stale?: boolean | undefined
  /**
   * The present time in milliseconds since 1970, from a clock that the user cannot set back.
   * Required when a rule of the policies has `expires_at`; otherwise unused.
   */
  readonly now?: number | undefined
}

const INVALID = denyFor('invalid_request')

/**
 * Decides one request: a matching deny wins, then a matching allow, otherwise deny. The function is
 * pure and does no I/O. It never throws because of a request: an invalid request is denied with
 * `invalid_request`. Throws `PolicyError` with `ERR_OPTION_INVALID` for a policy that is not
 * compiled, and when a rule expires and `options.now` is not a finite number.
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
  const { conditions } = policy
  const decision =
    conditions === null
      ? decideFresh(policy, readMembers(request))
      : decideConditionally(conditions, readNow(conditions, options?.now), request)
  return isStale ? { ...decision, stale: true } : decision
}

/** Decides with every rule, expired or of a shadow policy, and without regard to the default. */
export function decideByAllRules(policy: CompiledPolicy, request: unknown): Decision {
  return decideFresh(policy, readMembers(request))
}

function decideConditionally(conditions: Conditions, now: number, request: unknown): Decision {
  const { enforced, shadowed, hasShadow, observes } = conditions
  const members = readMembers(request)
  const decideBy = (policy: CompiledPolicy): Decision => {
    const made = decideFresh(policy, members)
    return observes && made.reason === 'default_deny' ? observe(made) : made
  }
  const decision = decideBy(enforced(now))
  return hasShadow ? withShadow(decision, decideBy(shadowed(now))) : decision
}

/** Allows the request. A name is resolved, because its address may still be denied. */
function observe(denied: Decision): Decision {
  const { address_required: _, request, ...rest } = denied
  const isOpen = request !== null && 'host' in request && request.address === undefined
  return {
    ...rest,
    request,
    decision: 'allow',
    reason: 'observed',
    hint: null,
    ...(isOpen ? { address_required: true } : {}),
  }
}

function withShadow(decision: Decision, would: Decision): Decision {
  if (
    would.decision === decision.decision &&
    would.reason === decision.reason &&
    would.address_required === decision.address_required
  )
    return decision
  const { decision: kind, reason, rules, address_required } = would
  const shadow = { decision: kind, reason, rules }
  return { ...decision, shadow: address_required ? { ...shadow, address_required } : shadow }
}

function decideFresh(policy: CompiledPolicy, members: RequestMembers | string): Decision {
  if (typeof members === 'string') return answer(INVALID, null, policy.revision, null)
  return decideFastPath(policy, members) ?? decideCarefully(policy, members)
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
