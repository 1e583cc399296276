import { embeddedIpv4 } from '../address/embedded-ipv4.ts'
import type { IpAddress } from '../address/ip-address.ts'
import { readGlobPath } from '../path/glob.ts'
import {
  patternCoversAddress,
  patternCoversName,
  type NetworkPattern,
} from '../pattern/network-pattern.ts'
import { resolvedPatternMatches } from '../pattern/path-pattern.ts'
import type { Action } from '../policy/policy.ts'
import type { CompiledPolicy, CompiledResource, CompiledRule } from './compiled-policy.ts'
import type { RuleMatch } from '../policy/decision.ts'

/** Tells whether one resource of a rule matches the request. */
export type Test = (resource: CompiledResource) => boolean

/** The rule with its first matching resource, or an empty list. */
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

/** Tests address patterns against the address and every embedded IPv4 address, for denies only. */
export function testAddressDeeply(address: IpAddress, port: number): Test {
  const addresses = [address, ...embeddedIpv4(address).map((inner) => inner.address)]
  return networkTest(
    port,
    (pattern) =>
      pattern.kind === 'range' &&
      addresses.some((candidate) => patternCoversAddress(pattern, candidate)),
  )
}

/** Tests path patterns with the case sensitivity of the compiled policy. */
export function testPath(policy: CompiledPolicy, path: string): Test {
  const read = readGlobPath(path, policy.caseSensitive)
  return (resource) =>
    resource.domain === 'filesystem' && resolvedPatternMatches(resource.segments, read)
}

function networkTest(port: number, covers: (pattern: NetworkPattern) => boolean): Test {
  return (resource) => {
    if (resource.domain !== 'network') return false
    const { pattern } = resource
    return (pattern.port === null || pattern.port === port) && covers(pattern)
  }
}
