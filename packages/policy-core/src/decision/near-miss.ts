import { domainOf, type Action } from '../policy/policy.ts'
import { quote } from '../quote.ts'
import type { CompiledPolicy, CompiledResource, CompiledRule } from './compiled-policy.ts'
import type { NearMiss } from './decision.ts'
import { testAddress, testName, testPath } from './match.ts'
import { nearerMiss, nearness, type Miss } from './miss.ts'
import { missOfName } from './near-miss-name.ts'
import { missOfPath } from './near-miss-path.ts'
import type { ParsedRequest } from './request.ts'

/** More would bury the one that somebody meant to write. */
const MAX_NEAR_MISSES = 10

/** The allow rules that came closest to a request which nothing allowed, the nearest first. */
export function findNearMisses(policy: CompiledPolicy, request: ParsedRequest): NearMiss[] {
  return policy.rules
    .filter((rule) => rule.identity.decision === 'allow')
    .flatMap((rule) => missOfRule(policy, rule, request))
    .toSorted((a, b) => nearness(a) - nearness(b))
    .slice(0, MAX_NEAR_MISSES)
}

function missOfRule(
  policy: CompiledPolicy,
  rule: CompiledRule,
  request: ParsedRequest,
): NearMiss[] {
  if (rule.domain !== domainOf(request.action)) return []
  const misses = rule.resources.flatMap((resource) => {
    const miss = missOfResource(policy, rule, resource, request)
    return miss === null ? [] : [{ resource: resource.text, origin: rule.origin, ...miss }]
  })
  const [first, ...rest] = misses
  return first === undefined ? [] : [{ ...rule.identity, ...rest.reduce(nearerMiss, first) }]
}

function missOfResource(
  policy: CompiledPolicy,
  rule: CompiledRule,
  resource: CompiledResource,
  request: ParsedRequest,
): Miss | null {
  if (covers(policy, resource, request)) return missOfCovering(rule, request.action)
  if (!rule.actions.includes(request.action)) return null
  if (request.kind === 'connect') return missOfName(resource, request)
  return missOfPath(resource, request.path, policy.caseSensitive)
}

/** The resource is right, so it is the action or the origin of the rule that is not. */
function missOfCovering(rule: CompiledRule, action: Action): Miss | null {
  if (!rule.actions.includes(action)) {
    const actions = rule.actions.map(quote).join(', ')
    return { miss: 'other_action', message: `the rule is about ${actions}, not ${quote(action)}` }
  }
  if (rule.active) return null
  return {
    miss: 'inactive',
    message: 'a local allow has no effect on a machine that the organization governs',
  }
}

function covers(
  policy: CompiledPolicy,
  resource: CompiledResource,
  request: ParsedRequest,
): boolean {
  if (request.kind === 'path') return testPath(policy, request.path)(resource)
  const { name, port, address } = request
  return testName(name, port)(resource) || testAddress(address, port)(resource)
}
