import { formatHostPort } from '../host/host.ts'

import { parseAddress } from '../address/ip-address.ts'
import { isCloudMetadata } from '../address/protected-address.ts'
import type { ActionSlot } from '../lookup/flags.ts'
import { FILESYSTEM_ACTIONS, NETWORK_ACTIONS, type FilesystemAction } from '../policy/policy.ts'
import type { CanonicalRequest, ConnectRequest, Reason } from '../policy/decision.ts'
import { isAboutPath } from './request.ts'

/** The port of nearly every request. */
const HTTPS = 443

/** Beginnings of hints, by slot. */
const ALLOW_NETWORK: readonly string[] = /* @__PURE__ */ NETWORK_ACTIONS.map(
  (action) => `allow ${action} `,
)
const ALLOW_BRACKETED: readonly string[] = /* @__PURE__ */ NETWORK_ACTIONS.map(
  (action) => `allow ${action} [`,
)
const ALLOW_FILESYSTEM: readonly string[] = /* @__PURE__ */ FILESYSTEM_ACTIONS.map(
  (action) => `allow ${action} `,
)

/**
 * The narrowest rule that would turn the deny into an allow, such as
 * `allow connect:tcp api.example.com:443`. Null where no rule would, or where no rule can name the
 * path alone. A name that resolves to a protected address gets no rule, because opening that
 * address would enable DNS rebinding, and a metadata address of a cloud gets none, because programs
 * would get the credentials of the machine. The hint then names the address.
 */
export function hintFor(reason: Reason, request: CanonicalRequest): string | null {
  switch (reason) {
    case 'default_deny':
      return isAboutPath(request)
        ? hintForPath(request.action, request.path)
        : `allow ${request.action} ${formatHostPort(request.host, request.port)}`
    case 'protected_address':
      return isAboutPath(request) || request.address === undefined
        ? null
        : hintForProtected(request, request.address)
    case 'rule':
    case 'observed':
    case 'invalid_request':
    case 'no_policy':
    case 'policy_expired':
    case 'unsupported_policy':
      return null
  }
}

/**
 * The hint for a name. This function and those below, for an address and for a path that can be
 * named alone, join as few strings as possible. bench: decide/hosts
 */
export function hintForName(slot: ActionSlot, host: string, port: number): string {
  return ALLOW_NETWORK[slot]! + host + (port === HTTPS ? ':443' : `:${port}`)
}

export function hintForLiteral(
  slot: ActionSlot,
  host: string,
  port: number,
  family: 4 | 6,
): string {
  if (family === 4) return hintForName(slot, host, port)
  return ALLOW_BRACKETED[slot]! + host + (port === HTTPS ? ']:443' : `]:${port}`)
}

export function hintForPlainPath(slot: ActionSlot, path: string): string {
  return ALLOW_FILESYSTEM[slot]! + path
}

function hintForProtected({ action, host, port }: ConnectRequest, address: string): string {
  if (host !== address)
    return (
      `${host} resolves to the protected address ${address}, ` +
      'which an allow of the name never opens'
    )
  const parsed = parseAddress(address)
  return parsed !== null && isCloudMetadata(parsed)
    ? `${address} is an address of cloud metadata, which hands out the credentials of the machine`
    : `allow ${action} ${formatHostPort(address, port)}`
}

function hintForPath(action: FilesystemAction, path: string): string | null {
  return canNameAlone(path) ? `allow ${action} ${path}` : null
}

/**
 * Tells whether a pattern can name the path alone. Patterns cannot express a literal `*` or control
 * character, and a `*` in its place would open more than the request.
 */
export function canNameAlone(path: string): boolean {
  return !/[\p{Cc}*]/u.test(path)
}
