import type { Decision, Explanation } from '@palisade/policy-core'

/** Whether a connection would return to this proxy. */
export type IsSelf = (address: string, port: number) => boolean

/** Replaces the hint to add a rule: no rule allows a connection to the proxy itself. */
export const LOOP_HINT = 'the proxy does not connect to itself, whatever a rule allows'

/**
 * Denies a connection that would return to the proxy: its own address is protected, and no rule
 * opens it. All other decisions stay as they are, including denials by rule.
 */
export function refuseLoop<D extends Decision>(made: D, isSelf: IsSelf): D {
  const opens = made.decision === 'allow' || made.reason === 'protected_address'
  if (!opens || !comesBack(made, isSelf)) return made
  return { ...made, decision: 'deny', reason: 'protected_address', rules: [], hint: LOOP_HINT }
}

/** Applies the same to an explanation: rules that allow the connection match, but do not decide. */
export function explainLoop<E extends Explanation>(made: E, isSelf: IsSelf): E {
  const refused = refuseLoop(made, isSelf)
  if (refused === made) return made
  const matched = made.matched.map((rule) => ({ ...rule, deciding: false }))
  return { ...refused, matched, detail: "the address is that of this machine's own proxy" }
}

function comesBack({ request }: Decision, isSelf: IsSelf): boolean {
  if (request === null || !('host' in request) || request.action !== 'connect:tcp') return false
  return isSelf(request.address ?? request.host, request.port)
}
