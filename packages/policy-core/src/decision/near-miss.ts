import { domainOf, type Action } from '../policy/policy.ts'
import { quote } from '../quote.ts'
import type { CompiledPolicy, CompiledResource, CompiledRule } from './compiled-policy.ts'
import { linearRules } from './linear-rules.ts'
import type { NearMiss } from '../policy/decision.ts'
import { testAddress, testName, testPath, type Test } from './match.ts'
import { nearerMiss, nearness, type Miss } from './miss.ts'
import { missOfName } from './near-miss-name.ts'
import { createPathMiss } from './near-miss-path.ts'
import type { ParsedRequest } from './request.ts'

/** A longer list would hide the relevant rule. */
const MAX_NEAR_MISSES = 10

/** The allow rules that came closest to a request without a matching allow, nearest first. */
export function findNearMisses(policy: CompiledPolicy, request: ParsedRequest): NearMiss[] {
  const probe = createProbe(policy, request)
  return linearRules(policy)
    .filter((rule) => rule.identity.decision === 'allow')
    .flatMap((rule) => missOfRule(probe, rule, request))
    .toSorted((a, b) => nearness(a) - nearness(b))
    .slice(0, MAX_NEAR_MISSES)
}

/** Tests for resources, prepared once for all rules. */
interface Probe {
  readonly covers: Test
  readonly missOf: (resource: CompiledResource) => Miss | null
}

function createProbe(policy: CompiledPolicy, request: ParsedRequest): Probe {
  if (request.kind === 'path')
    return {
      covers: testPath(policy, request.path),
      missOf: createPathMiss(request.path, policy.caseSensitive),
    }
  const isName = testName(request.name, request.port)
  const isAddress = testAddress(request.address, request.port)
  return {
    covers: (resource) => isName(resource) || isAddress(resource),
    missOf: (resource) => missOfName(resource, request),
  }
}

function missOfRule(probe: Probe, rule: CompiledRule, request: ParsedRequest): NearMiss[] {
  if (rule.domain !== domainOf(request.action)) return []
  const misses = rule.resources.flatMap((resource) => {
    const miss = missOfResource(probe, rule, resource, request.action)
    return miss === null ? [] : [{ resource: resource.text, origin: rule.origin, ...miss }]
  })
  const [first, ...rest] = misses
  return first === undefined ? [] : [{ ...rule.identity, ...rest.reduce(nearerMiss, first) }]
}

function missOfResource(
  probe: Probe,
  rule: CompiledRule,
  resource: CompiledResource,
  action: Action,
): Miss | null {
  if (probe.covers(resource)) return missOfCovering(rule, action)
  return rule.actions.includes(action) ? probe.missOf(resource) : null
}

/** The resource matches, so the miss is due to the action, the origin or a lapse of the rule. */
function missOfCovering(rule: CompiledRule, action: Action): Miss | null {
  if (!rule.actions.includes(action)) {
    const actions = rule.actions.map(quote).join(', ')
    return { miss: 'other_action', message: `the rule is for ${actions}, not ${quote(action)}` }
  }
  if (rule.active) return null
  const noun = rule.origin === 'grant' ? 'grant' : 'rule'
  if (rule.lapses.includes('expired'))
    return { miss: 'expired', message: `the ${noun} has expired` }
  if (rule.lapses.includes('spent'))
    return { miss: 'spent', message: 'the grant was for one use, which is spent' }
  if (rule.lapses.includes('not_begun'))
    return { miss: 'not_begun', message: `the ${noun} has not begun` }
  if (rule.lapses.includes('shadow'))
    return { miss: 'shadow', message: 'the policy of the rule is a shadow policy' }
  return {
    miss: 'inactive',
    message: 'a local allow has no effect on a machine that the organization governs',
  }
}
