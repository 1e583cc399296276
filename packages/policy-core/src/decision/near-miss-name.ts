import { formatHostPort } from '../host/host.ts'
import {
  patternCoversAddress,
  patternCoversName,
  type NetworkPattern,
} from '../pattern/network-pattern.ts'
import type { CompiledResource } from './compiled-policy.ts'
import type { Miss } from './miss.ts'
import type { ParsedRequest } from './request.ts'

type Connect = ParsedRequest & { readonly kind: 'connect' }
type NamePattern = NetworkPattern & { readonly kind: 'name' }

/** Says why a close host or address pattern does not cover the request; null when far off. */
export function missOfName(resource: CompiledResource, request: Connect): Miss | null {
  if (resource.domain !== 'network') return null
  const { pattern } = resource
  const { name, address, port } = request
  if (pattern.kind === 'range')
    return address !== null && patternCoversAddress(pattern, address)
      ? otherPort(pattern.port, port)
      : null
  if (name === null) return null
  if (patternCoversName(pattern, name)) return otherPort(pattern.port, port)
  return pattern.port === null || pattern.port === port ? otherDepth(pattern, name) : null
}

function otherDepth({ depth, domain, port }: NamePattern, name: string): Miss | null {
  // Without the port the advice would open every port.
  const written = formatHostPort(domain, port)
  if (name === domain)
    return {
      miss: 'apex_not_covered',
      message: `a wildcard does not cover the domain itself; add \`${written}\``,
    }
  if (!name.endsWith(`.${domain}`)) return null
  if (depth === 'one')
    return {
      miss: 'too_many_labels',
      message: `\`*.\` covers one label only; \`**.${written}\` covers any depth`,
    }
  return {
    miss: 'subdomain_not_covered',
    message: `the rule covers that name alone; \`**.${written}\` covers the names below it`,
  }
}

function otherPort(rulePort: number | null, port: number): Miss | null {
  if (rulePort === null || rulePort === port) return null
  return { miss: 'other_port', message: `the rule is for port ${rulePort}, not ${port}` }
}
