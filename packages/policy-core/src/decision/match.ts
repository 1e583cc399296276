import { embeddedIpv4 } from '../address/embedded-ipv4.ts'
import type { IpAddress } from '../address/ip-address.ts'
import type { Protection } from '../address/protected-address.ts'
import { readGlobPath } from '../path/glob.ts'
import {
  patternCoversAddress,
  patternCoversName,
  type NetworkPattern,
} from '../pattern/network-pattern.ts'
import { placedPatternMatches } from '../pattern/path-pattern.ts'
import type { Action, RuleDecision } from '../policy/policy.ts'
import type { CompiledPolicy, CompiledResource, CompiledRule } from './compiled-policy.ts'
import { linearRules } from './linear-rules.ts'
import type { RuleMatch } from './decision.ts'

/** Tells whether one resource of a rule is what the request is about. */
export type Test = (resource: CompiledResource) => boolean

/** The active rules of one kind that match, in order, each with its first matching resource. */
export function matchingRules(
  policy: CompiledPolicy,
  decision: RuleDecision,
  action: Action,
  test: Test,
): RuleMatch[] {
  return linearRules(policy)
    .filter((rule) => rule.active && rule.identity.decision === decision)
    .flatMap((rule) => matchRule(rule, action, test))
}

/** The rule with its first matching resource, or nothing. */
export function matchRule(rule: CompiledRule, action: Action, test: Test): RuleMatch[] {
  if (!rule.actions.includes(action)) return []
  const resource = rule.resources.find(test)
  return resource === undefined
    ? []
    : [{ ...rule.identity, resource: resource.text, origin: rule.origin }]
}

/** Tests name patterns; an address pattern never matches a name. */
export function testName(name: string | null, port: number): Test {
  return networkTest(
    port,
    (pattern) => name !== null && pattern.kind === 'name' && patternCoversName(pattern, name),
  )
}

/** Tests address patterns against the address itself. */
export function testAddress(address: IpAddress | null, port: number): Test {
  return networkTest(
    port,
    (pattern) =>
      address !== null && pattern.kind === 'range' && patternCoversAddress(pattern, address),
  )
}

/** Tests address patterns against the address and every IPv4 address inside it: for denies only. */
export function testAddressDeeply(address: IpAddress, port: number): Test {
  const addresses = [address, ...embeddedIpv4(address).map((inner) => inner.address)]
  return networkTest(
    port,
    (pattern) =>
      pattern.kind === 'range' &&
      addresses.some((candidate) => patternCoversAddress(pattern, candidate)),
  )
}

/** Tests address patterns that name the address and stay inside every protected class it is in. */
export function testOpener(
  address: IpAddress,
  port: number,
  protections: readonly Protection[],
): Test {
  return networkTest(
    port,
    (pattern) =>
      pattern.kind === 'range' &&
      patternCoversAddress(pattern, address) &&
      protections.every((protection) => protection.isOpenedBy(pattern.range)),
  )
}

/** Tests path patterns, with the letter case that the policy was compiled for. */
export function testPath(policy: CompiledPolicy, path: string): Test {
  const read = readGlobPath(path, policy.caseSensitive)
  return (resource) =>
    resource.domain === 'filesystem' && placedPatternMatches(resource.segments, read)
}

function networkTest(port: number, covers: (pattern: NetworkPattern) => boolean): Test {
  return (resource) => {
    if (resource.domain !== 'network') return false
    const { pattern } = resource
    return (pattern.port === null || pattern.port === port) && covers(pattern)
  }
}
