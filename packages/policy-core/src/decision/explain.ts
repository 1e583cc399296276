import { protectionsOf } from '../address/protected-address.ts'
import { enforcedAt } from './conditions.ts'
import { requireCompiled, type CompiledPolicy } from './compiled-policy.ts'
import { decide, denyUnavailable, type DecideOptions } from './decide.ts'
import type {
  Decision,
  Explanation,
  MatchedRule,
  Reason,
  RuleMatch,
  UnavailableReason,
} from '../policy/decision.ts'
import {
  matchRule,
  testAddressDeeply,
  testAddress,
  testName,
  testPath,
  type Test,
} from './match.ts'
import { canNameAlone } from './hint.ts'
import { linearRules } from './linear-rules.ts'
import { findNearMisses } from './near-miss.ts'
import { parseRequest, type ParsedRequest } from './request.ts'

/**
 * Decides one request and explains the decision: lists every matching rule, deciding or not, and
 * for a default deny the allow rules that came closest. Same answer as `decide`, and throws as
 * `decide` does.
 */
export function explain(
  policy: CompiledPolicy,
  request: unknown,
  options: DecideOptions = {},
): Explanation {
  requireCompiled('policy', policy)
  const enforced = enforcedAt(policy, options.now)
  const read = parseRequest(request)
  // The canonical request has the same decision, and reading it runs no getter a second time.
  const decision = decide(policy, read.ok ? read.value.canonical : null, options)
  if (!read.ok) return { ...decision, matched: [], near_misses: [], detail: read.message }
  return {
    ...decision,
    matched: findMatched(enforced, read.value, decision),
    near_misses: decision.reason === 'default_deny' ? findNearMisses(enforced, read.value) : [],
    detail: describe(decision.reason, read.value, policy),
  }
}

/** The decision of `denyUnavailable` as an explanation. */
export function explainUnavailable(
  reason: UnavailableReason,
  request: unknown,
  options: DecideOptions & { readonly revision?: number | null | undefined } = {},
): Explanation {
  const decision = denyUnavailable(reason, request, options)
  const read = parseRequest(request)
  const detail = read.ok ? UNAVAILABLE[reason] : `${UNAVAILABLE[reason]}; ${read.message}`
  return { ...decision, matched: [], near_misses: [], detail }
}

const UNAVAILABLE: Readonly<Record<UnavailableReason, string>> = {
  no_policy: 'this machine has no verified policy bundle, so everything is denied',
  policy_expired: 'the policy bundle has expired, so everything is denied',
  unsupported_policy: 'the policy bundle has a form that this version does not know',
}

function findMatched(
  policy: CompiledPolicy,
  request: ParsedRequest,
  decision: Decision,
): MatchedRule[] {
  const tests = { allow: testOf(policy, request, 'allow'), deny: testOf(policy, request, 'deny') }
  // Decisions list rules in the order of `linearRules`, so one pass finds all deciding rules.
  let next = 0
  return linearRules(policy).flatMap((rule) =>
    matchRule(rule, request.action, tests[rule.identity.decision]).map((match) => {
      const candidate = decision.rules[next]
      const deciding = candidate !== undefined && rule.active && isSameRule(candidate, match)
      if (deciding) next += 1
      const { active, lapses } = rule
      return {
        ...(deciding ? candidate : match),
        deciding,
        active,
        ...(lapses.includes('expired') ? { expired: true } : {}),
        ...(lapses.includes('not_begun') ? { not_begun: true } : {}),
        ...(lapses.includes('spent') ? { spent: true } : {}),
        ...(lapses.includes('shadow') ? { shadow: true } : {}),
      }
    }),
  )
}

/** The test of a rule of this kind, with all steps of the evaluation together. */
function testOf(policy: CompiledPolicy, request: ParsedRequest, kind: 'allow' | 'deny'): Test {
  if (request.kind === 'path') return testPath(policy, request.path)
  const { name, port, address } = request
  const isName = testName(name, port)
  if (address === null) return isName
  const isAddress = kind === 'deny' ? testAddressDeeply(address, port) : testAddress(address, port)
  return (resource) => isName(resource) || isAddress(resource)
}

/** Compares more than the ids, because a policy file written by hand may repeat them. */
function isSameRule(a: RuleMatch, b: RuleMatch): boolean {
  return (
    a.rule_id === b.rule_id &&
    a.policy_id === b.policy_id &&
    a.rule_name === b.rule_name &&
    a.policy_name === b.policy_name &&
    a.decision === b.decision &&
    a.origin === b.origin
  )
}

function describe(reason: Reason, request: ParsedRequest, policy: CompiledPolicy): string | null {
  if (request.kind === 'path')
    return reason !== 'default_deny' || canNameAlone(request.path)
      ? null
      : 'the path has a `*` or a control character, so no rule can name it alone'
  if (request.address === null) return null
  if (reason !== 'protected_address') return null
  const labels = protectionsOf(request.address, policy.machine).map(({ label }) => label)
  const classes = [...new Set(labels)].join(', ')
  return request.name === null
    ? `the address is protected (${classes}); ` +
        `only an allow that names it, or a range inside its class, opens it`
    : `the name resolves to a protected address (${classes}), ` +
        `which an allow of the name never opens`
}
