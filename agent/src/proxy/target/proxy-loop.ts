import type { Decision, Explanation, NetworkAction } from '@palisade/policy-core'

/** Whether a connection would return to this proxy. */
export type IsOwnAddress = (address: string, port: number) => boolean

/** Texts about a proxy that no rule opens. The hint replaces the one to add a rule. */
export interface ProxyLoop {
  readonly action: NetworkAction
  readonly hint: string
  readonly detail: string
}

export const OWN_LOOP: ProxyLoop = {
  action: 'connect:tcp',
  hint: 'the proxy does not connect to itself, whatever a rule allows',
  detail: "the address is that of this machine's own proxy",
}

export const OWN_DATAGRAM_LOOP: ProxyLoop = {
  action: 'connect:udp',
  hint: 'no datagram goes to the proxy or to an unspecified address, whatever a rule allows',
  detail: "the address is unspecified, or that of this machine's own proxy",
}

export const PARENT_LOOP: ProxyLoop = {
  action: 'connect:tcp',
  hint: 'the proxy connects no program to its parent proxy, whatever a rule allows',
  detail: 'the address is that of the parent proxy',
}

/**
 * Denies a connection that would return to the proxy: its own address is protected, and no rule
 * opens it. All other decisions stay as they are, including denials by rule.
 */
export function refuseLoop<D extends Decision>(made: D, isOwn: IsOwnAddress, loop = OWN_LOOP): D {
  const opens = made.decision === 'allow' || made.reason === 'protected_address'
  if (!opens || !comesBack(made, isOwn, loop.action)) return made
  // Final: no address of a name that stands for the proxy needs a decision of its own.
  const { address_required: _, ...rest } = made
  const denied = { decision: 'deny', reason: 'protected_address', rules: [], hint: loop.hint }
  return { ...rest, ...denied } as unknown as D
}

/** Applies the same to an explanation: rules that allow the connection match, but do not decide. */
export function explainLoop<E extends Explanation>(
  made: E,
  isOwn: IsOwnAddress,
  loop = OWN_LOOP,
): E {
  const refused = refuseLoop(made, isOwn, loop)
  if (refused === made) return made
  const matched = made.matched.map((rule) => ({ ...rule, deciding: false }))
  return { ...refused, matched, detail: loop.detail }
}

/** Whether a hint says that a connection leads to a proxy that no rule opens. */
export function isLoopHint(hint: string | null): hint is string {
  return hint === OWN_LOOP.hint || hint === PARENT_LOOP.hint
}

function comesBack({ request }: Decision, isOwn: IsOwnAddress, action: NetworkAction): boolean {
  if (request === null || !('host' in request) || request.action !== action) return false
  return isOwn(request.address ?? request.host, request.port)
}
