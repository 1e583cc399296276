import { protectionsOf } from '../address/protected-address.ts'
import type { CompiledPolicy } from './compiled-policy.ts'
import type { Decision, Reason, RuleMatch, UnavailableReason } from './decision.ts'
import { hintFor } from './hint.ts'
import {
  matchingRules,
  testAddress,
  testAddressDeeply,
  testName,
  testOpener,
  testPath,
  type Test,
} from './match.ts'
import { parseRequest, type ParsedRequest } from './request.ts'

export interface DecideOptions {
  /** Whether the bundle is older than its freshness limit; echoed in the decision. Default false. */
  readonly stale?: boolean | undefined
}

/** What an evaluation concludes, before it is dressed as a decision object. */
interface Verdict {
  readonly decision: 'allow' | 'deny'
  readonly reason: Reason
  readonly rules: readonly RuleMatch[]
  readonly addressRequired: boolean
}

/**
 * Decides one request: a matching deny wins, then a matching allow, otherwise deny. Pure, does no
 * I/O, and never throws: a value that is no valid request is denied with `invalid_request`.
 *
 * A connect request is `{action, host, port, address?}`, a filesystem request `{action, path}`.
 * For an allowed name without `address` the answer carries `address_required`: resolve the name
 * once, ask again with each address, and dial only an address that was allowed. O(resources).
 */
export function decide(
  policy: CompiledPolicy,
  request: unknown,
  options: DecideOptions = {},
): Decision {
  const read = parseRequest(request)
  const state = { revision: policy.revision, stale: options.stale ?? false }
  if (!read.ok) return answer(deny('invalid_request'), null, state)
  return answer(evaluate(policy, read.value), read.value, state)
}

/**
 * The decision of a machine that has nothing to evaluate: no verified bundle, an expired one, or
 * one it does not understand. Always a deny. `revision` is null unless given.
 */
export function denyUnavailable(
  reason: UnavailableReason,
  request: unknown,
  options: DecideOptions & { readonly revision?: number | null | undefined } = {},
): Decision {
  const read = parseRequest(request)
  const state = { revision: options.revision ?? null, stale: options.stale ?? false }
  return answer(deny(reason), read.ok ? read.value : null, state)
}

function evaluate(policy: CompiledPolicy, request: ParsedRequest): Verdict {
  return request.kind === 'path' ? evaluatePath(policy, request) : evaluateConnect(policy, request)
}

function evaluatePath(
  policy: CompiledPolicy,
  { action, path }: ParsedRequest & { kind: 'path' },
): Verdict {
  const test = testPath(policy, path)
  const denies = matchingRules(policy, 'deny', action, test)
  if (denies.length > 0) return deny('rule', denies)
  const allows = matchingRules(policy, 'allow', action, test)
  return allows.length > 0 ? allow(allows) : deny('default_deny')
}

/** The three steps of SEMANTICS "Names and addresses"; a deny of the name ends it before DNS. */
function evaluateConnect(
  policy: CompiledPolicy,
  { action, name, port, address }: ParsedRequest & { kind: 'connect' },
): Verdict {
  const matching = (decision: 'allow' | 'deny', test: Test): RuleMatch[] =>
    matchingRules(policy, decision, action, test)
  const isName = testName(name, port)
  const nameDenies = matching('deny', isName)
  if (nameDenies.length > 0) return deny('rule', nameDenies)

  if (address === null) {
    const allows = matching('allow', isName)
    if (allows.length > 0) return { ...allow(allows), addressRequired: true }
    return { ...deny('default_deny'), addressRequired: policy.resolvesUnlisted[action] }
  }

  const addressDenies = matching('deny', testAddressDeeply(address, port))
  if (addressDenies.length > 0) return deny('rule', addressDenies)

  const isAddress = testAddress(address, port)
  const protections = protectionsOf(address, policy.machine)
  if (protections.length > 0) {
    const opens = testOpener(address, port, protections)
    if (matching('allow', opens).length === 0) return deny('protected_address')
  }

  const allows = matching('allow', (resource) => isName(resource) || isAddress(resource))
  return allows.length > 0 ? allow(allows) : deny('default_deny')
}

function allow(rules: readonly RuleMatch[]): Verdict {
  return { decision: 'allow', reason: 'rule', rules, addressRequired: false }
}

function deny(reason: Reason, rules: readonly RuleMatch[] = []): Verdict {
  return { decision: 'deny', reason, rules, addressRequired: false }
}

function answer(
  verdict: Verdict,
  request: ParsedRequest | null,
  state: { readonly revision: number | null; readonly stale: boolean },
): Decision {
  return {
    decision: verdict.decision,
    reason: verdict.reason,
    rules: verdict.rules,
    request: request?.canonical ?? null,
    ...state,
    ...(verdict.addressRequired ? { address_required: true as const } : {}),
    hint: request === null ? null : hintFor(verdict.reason, request),
  }
}
