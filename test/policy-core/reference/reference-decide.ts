import type { Decision, RuleDecision, RuleMatch } from '@palisade/policy-core'
import { covers, type Address } from './address.ts'
import { embeddedAddresses } from './embedded-address.ts'
import { isOnPort, matchesName, type AddressPattern } from './network-pattern.ts'
import { matchesPath } from './path.ts'
import { opens, protectedRangesOf } from './protected-address.ts'
import type { ReferencePattern, ReferenceSet } from './reference-rules.ts'
import { readRequest, type ReferenceRequest } from './request.ts'

/** A decision without the hint, which is not part of the semantics. */
export type ReferenceDecision = Omit<Decision, 'hint'>

type Outcome = Pick<Decision, 'decision' | 'reason' | 'rules' | 'address_required'>
type Connect = ReferenceRequest & { kind: 'connect' }

/**
 * Evaluates a policy set for one request without indices or optimizations. This file defines the
 * semantics, and faster evaluators must agree with it.
 */
export function referenceDecide(
  set: ReferenceSet,
  input: unknown,
  now?: number,
): ReferenceDecision {
  const unexpired = set.rules.filter(({ begins, expires }) => {
    if (expires !== null && now === undefined) throw new TypeError('rejected: no time')
    const hasBegun = begins === null || now === undefined || now >= begins
    return hasBegun && (expires === null || now === undefined || now < expires)
  })
  const enforced = unexpired.filter(({ isShadow }) => !isShadow)
  const decision = decideObserving({ ...set, rules: enforced }, input)
  const would = decideObserving({ ...set, rules: unexpired }, input)
  const isSame =
    would.decision === decision.decision &&
    would.reason === decision.reason &&
    would.address_required === decision.address_required
  if (isSame) return decision
  const { request: _r, revision: _v, stale: _s, ...shadow } = would
  return { ...decision, shadow }
}

/** With the default `observe`, a request that no rule matches is allowed. */
function decideObserving(set: ReferenceSet, input: unknown): ReferenceDecision {
  const decision = decideByRules(set, input)
  if (!set.observes || decision.reason !== 'default_deny') return decision
  const isOpen = decision.request !== null && isName(decision.request)
  return {
    ...decision,
    decision: 'allow',
    reason: 'observed',
    ...(isOpen ? { address_required: true } : {}),
  }
}

function isName(request: NonNullable<Decision['request']>): boolean {
  return !('path' in request) && !('address' in request)
}

function decideByRules(set: ReferenceSet, input: unknown): ReferenceDecision {
  const request = readRequest(input)
  const common = { request: request?.canonical ?? null, revision: set.revision, stale: false }
  if (request === null) return { decision: 'deny', reason: 'invalid_request', rules: [], ...common }
  return {
    ...(request.kind === 'path' ? decidePath(set, request) : decideConnect(set, request)),
    ...common,
  }
}

function decidePath(set: ReferenceSet, request: ReferenceRequest & { kind: 'path' }): Outcome {
  const isMatch = (pattern: ReferencePattern) =>
    pattern.domain === 'filesystem' && matchesPath(pattern, request.path, set)

  const denies = matchingRules(set, 'deny', request, isMatch)
  if (denies.length > 0) return { decision: 'deny', reason: 'rule', rules: denies }
  const allows = matchingRules(set, 'allow', request, isMatch)
  if (allows.length > 0) return { decision: 'allow', reason: 'rule', rules: allows }
  return { decision: 'deny', reason: 'default_deny', rules: [] }
}

function decideConnect(set: ReferenceSet, request: Connect): Outcome {
  const { address, name, port } = request
  const isName = (pattern: ReferencePattern) =>
    pattern.domain === 'network' && name !== null && matchesName(pattern, name, port)
  const isAt = (pattern: ReferencePattern, at: Address) =>
    isAddressPattern(pattern) && isOnPort(pattern, port) && covers(pattern.range, at)

  const nameDenies = matchingRules(set, 'deny', request, isName)
  if (nameDenies.length > 0) return { decision: 'deny', reason: 'rule', rules: nameDenies }
  if (address === null) return decideUnresolved(set, request, isName)

  const judged = [address, ...embeddedAddresses(address).map((embedded) => embedded.address)]
  const addressDenies = matchingRules(set, 'deny', request, (pattern) =>
    judged.some((at) => isAt(pattern, at)),
  )
  if (addressDenies.length > 0) return { decision: 'deny', reason: 'rule', rules: addressDenies }

  const protectedRanges = protectedRangesOf(address, set.machineAddresses)
  const opening = matchingRules(
    withoutGrants(set),
    'allow',
    request,
    (pattern) =>
      isAt(pattern, address) && isAddressPattern(pattern) && opens(pattern.range, protectedRanges),
  )
  if (protectedRanges.length > 0 && opening.length === 0) {
    return { decision: 'deny', reason: 'protected_address', rules: [] }
  }

  const allows = matchingRules(
    set,
    'allow',
    request,
    (pattern) => isName(pattern) || isAt(pattern, address),
  )
  if (allows.length > 0) return { decision: 'allow', reason: 'rule', rules: allows }
  return { decision: 'deny', reason: 'default_deny', rules: [] }
}

/**
 * Decides a name without a resolved address that no rule denies: whether it is allowed, and whether
 * its address must decide.
 */
function decideUnresolved(
  set: ReferenceSet,
  request: Connect,
  isName: (pattern: ReferencePattern) => boolean,
): Outcome {
  const allows = matchingRules(set, 'allow', request, isName)
  if (allows.length > 0) {
    return { decision: 'allow', reason: 'rule', rules: allows, address_required: true }
  }
  const catchAlls = matchingRules(
    set,
    'allow',
    request,
    (pattern) => isAddressPattern(pattern) && pattern.range.prefix === 0,
  )
  const isResolved = set.resolvesUnlistedNames || catchAlls.length > 0
  return {
    decision: 'deny',
    reason: 'default_deny',
    rules: [],
    ...(isResolved ? { address_required: true } : {}),
  }
}

/** A grant opens no protected address, not even one that it names. */
function withoutGrants(set: ReferenceSet): ReferenceSet {
  return { ...set, rules: set.rules.filter(({ match }) => match.origin !== 'grant') }
}

/** Returns one entry per matching rule for the action, with its first matching resource. */
function matchingRules(
  set: ReferenceSet,
  decision: RuleDecision,
  { action }: ReferenceRequest,
  isMatch: (pattern: ReferencePattern) => boolean,
): RuleMatch[] {
  return set.rules
    .filter((rule) => rule.match.decision === decision && rule.actions.includes(action))
    .flatMap(({ match, resources }) => {
      const first = resources.find(({ pattern }) => isMatch(pattern))
      return first === undefined ? [] : [{ ...match, resource: first.written }]
    })
    .toSorted((a, b) => compare(a.policy_id, b.policy_id) || compare(a.rule_id, b.rule_id))
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

function isAddressPattern(
  pattern: ReferencePattern,
): pattern is { domain: 'network' } & AddressPattern {
  return pattern.domain === 'network' && pattern.kind === 'address'
}
