import { formatHostPort } from '../host/host.ts'

import type { ActionSlot } from '../lookup/flags.ts'
import { FILESYSTEM_ACTIONS, NETWORK_ACTIONS, type FilesystemAction } from '../policy/policy.ts'
import type { CanonicalRequest, ConnectRequest, Reason } from './decision.ts'
import { isAboutPath } from './request.ts'

/** What nearly every request is for. */
const HTTPS = 443

/** How hints begin, by slot. */
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
 * `allow connect:tcp api.example.com:443`; null where no rule would, or none that names a path
 * alone. A name that leads to a protected address gets no rule: to open the address is what an
 * attack by DNS rebinding needs. The hint then says where the name leads.
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
    case 'invalid_request':
    case 'no_policy':
    case 'policy_expired':
    case 'unsupported_policy':
      return null
  }
}

/**
 * The same hint for a name, and below for an address and for a path that can be named alone, in as
 * few parts as there are: joining two costs some ten nanoseconds of 200.
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
  return host === address
    ? `allow ${action} ${formatHostPort(address, port)}`
    : `${host} resolves to the protected address ${address}, which an allow of the name never opens`
}

function hintForPath(action: FilesystemAction, path: string): string | null {
  return canNameAlone(path) ? `allow ${action} ${path}` : null
}

/**
 * Tells whether a pattern can name the path and nothing else. It cannot write `*` or a control
 * character as itself, and one with `*` in its place would open more than anybody asked for.
 */
export function canNameAlone(path: string): boolean {
  return !/[\p{Cc}*]/u.test(path)
}
