import type { Decision } from '@palisade/policy-core'
import { BlockList, isIP } from 'node:net'

/** Name of the machine's loopback for programs in a sandbox. */
export const HOST_NAME = 'host.sandbox.internal'

/** Addresses of `HOST_NAME`, which rules must allow beside the name. */
export const HOST_ADDRESSES: readonly string[] = ['127.0.0.1', '::1']

const SYNTHETIC_HINT = 'the address stands for no name of this sandbox; ask for the name again'
const LOOPBACK_HINT =
  'loopback belongs to the sandbox; the machine is ' +
  `\`${HOST_NAME}\`, for which both the name and 127.0.0.1 must be allowed`

/** Applies the rules of every sandbox to a decision. */
export type Confine = <D extends Decision>(made: D) => D

/**
 * Narrows decisions to the reach of a sandbox, whatever a rule allows:
 *
 * - A synthetic address leads nowhere by itself: each sandbox has its own, and a range that allows
 *   it was not meant for it.
 * - Loopback of the machine is reached by `host.sandbox.internal` alone. The name needs a rule, and
 *   its address needs one, because loopback is protected. No other name leads there, and a program
 *   that asks for 127.0.0.1 means its own sandbox.
 */
export function createConfine(): Confine {
  const synthetic = new BlockList()
  synthetic.addSubnet('198.18.0.0', 15, 'ipv4')
  const loopback = new BlockList()
  loopback.addSubnet('127.0.0.0', 8, 'ipv4')
  loopback.addAddress('::1', 'ipv6')

  return (made) => {
    const { request } = made
    if (request === null || !('host' in request)) return made
    const { host, address = host } = request
    if (isIn(synthetic, address)) return refuse(made, SYNTHETIC_HINT)
    if (host === HOST_NAME) return isIP(address) === 0 ? requireAddress(made) : made
    return isIn(loopback, address) || isLocalhost(host) ? refuse(made, LOOPBACK_HINT) : made
  }
}

function isIn(list: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4')
}

function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}

/** Denials that no rule could lift, and those by a rule, stay as they are. */
function refuse<D extends Decision>(made: D, hint: string): D {
  const { reason } = made
  const isFinal = reason !== 'default_deny' && reason !== 'protected_address'
  if (made.decision === 'deny' && isFinal) return made
  const { address_required: _, ...rest } = made
  const denied = { decision: 'deny', reason: 'protected_address', rules: [], hint }
  return { ...rest, ...denied } as unknown as D
}

/** A parent proxy may resolve names, but not this one. */
function requireAddress<D extends Decision>(made: D): D {
  return made.decision === 'allow' ? { ...made, address_required: true } : made
}
