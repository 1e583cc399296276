import { formatAddress } from '../address/ip-address.ts'
import { formatHostPort } from '../host/host.ts'
import type { Reason } from './decision.ts'
import type { ParsedRequest } from './request.ts'

/**
 * The narrowest rule that would turn the deny into an allow, such as
 * `allow connect:tcp api.example.com:443`; null where no rule would, or none that names a path alone.
 */
export function hintFor(reason: Reason, request: ParsedRequest): string | null {
  switch (reason) {
    case 'default_deny':
      return request.kind === 'path' && !canNameAlone(request.path)
        ? null
        : `allow ${request.action} ${narrowestResource(request)}`
    case 'protected_address':
      return request.kind === 'connect' && request.address !== null
        ? `allow ${request.action} ${formatHostPort(formatAddress(request.address), request.port)}`
        : null
    case 'rule':
    case 'invalid_request':
    case 'no_policy':
    case 'policy_expired':
    case 'unsupported_policy':
      return null
  }
}

function narrowestResource(request: ParsedRequest): string {
  if (request.kind === 'path') return request.path
  if (request.name !== null) return formatHostPort(request.name, request.port)
  return formatHostPort(request.canonical.host, request.port)
}

/**
 * Tells whether a pattern can name the path and nothing else. It cannot write `*` or a control
 * character as itself, and one with `*` in its place would open more than anybody asked for.
 */
export function canNameAlone(path: string): boolean {
  return !/[\p{Cc}*]/u.test(path)
}
