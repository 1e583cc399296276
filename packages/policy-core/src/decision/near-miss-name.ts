import { patternCoversAddress, patternCoversName } from '../pattern/network-pattern.ts'
import type { CompiledResource } from './compiled-policy.ts'
import type { Miss } from './miss.ts'
import type { ParsedRequest } from './request.ts'

type Connect = ParsedRequest & { readonly kind: 'connect' }

/** Why a host or address pattern that comes close does not cover the request; null when far off. */
export function missOfName(resource: CompiledResource, request: Connect): Miss | null {
  if (resource.domain !== 'network') return null
  const { pattern } = resource
  const { name, address, port } = request
  const samePort = pattern.port === null || pattern.port === port
  if (pattern.kind === 'range')
    return address !== null && patternCoversAddress(pattern, address)
      ? otherPort(pattern.port, port)
      : null
  if (name === null) return null
  if (patternCoversName(pattern, name)) return otherPort(pattern.port, port)
  if (!samePort) return null
  if (pattern.depth !== 'exact' && name === pattern.domain)
    return {
      miss: 'apex_not_covered',
      message: `a wildcard does not cover the domain itself; add \`${pattern.domain}\``,
    }
  if (!name.endsWith(`.${pattern.domain}`)) return null
  if (pattern.depth === 'one')
    return {
      miss: 'too_many_labels',
      message: `\`*.\` covers one label only; \`**.${pattern.domain}\` covers any depth`,
    }
  return {
    miss: 'subdomain_not_covered',
    message: `the rule covers that name alone; \`**.${pattern.domain}\` covers the names below it`,
  }
}

function otherPort(rulePort: number | null, port: number): Miss | null {
  if (rulePort === null || rulePort === port) return null
  return { miss: 'other_port', message: `the rule is about port ${rulePort}, not ${port}` }
}
