import { FAMILY_BITS, formatAddress, type IpAddress } from '../address/ip-address.ts'
import { firstAddress, lastAddress, type IpRange } from '../address/ip-range.ts'
import type { NetworkPattern } from '../pattern/network-pattern.ts'
import {
  isNetworkAction,
  NETWORK_ACTIONS,
  otherActions,
  type NetworkAction,
  type Rule,
} from '../policy/policy.ts'

/** A request that may turn out to be invalid. */
export interface HostRequest {
  readonly action: NetworkAction
  readonly host: string
  readonly port: number
  readonly address?: string | undefined
}

/** Shows the reader that any other name would serve as well. */
const OTHER = 'other'
const USUAL_PORT = 443
const LAST_PORT = 65535
/** 64:ff9b::/96 (RFC 6052 §2.1): addresses that reach IPv4 through a translator. */
const TRANSLATED = 0x64_ff9bn << 96n

/**
 * Requests around a pattern of the rule: first the simplest match, then requests that a faulty
 * evaluator may confuse with it, such as one label too many, or another port or action.
 */
export function hostRequests(pattern: NetworkPattern, rule: Rule): readonly HostRequest[] {
  const action = networkAction(rule.actions[0])
  const port = pattern.port ?? USUAL_PORT
  const [host = '', ...others] =
    pattern.kind === 'name' ? namesAround(pattern) : addressesAround(pattern.range, rule)
  const otherPort = port === LAST_PORT ? USUAL_PORT : port + 1
  return [
    { action, host, port },
    ...others.slice(0, 1).map((each) => ({ action, host: each, port })),
    ...(pattern.port === null ? [] : [{ action, host, port: otherPort }]),
    ...others.slice(1).map((each) => ({ action, host: each, port })),
    ...otherActions(action, NETWORK_ACTIONS).map((other) => ({ action: other, host, port })),
  ]
}

function networkAction(action: Rule['actions'][number] | undefined): NetworkAction {
  return isNetworkAction(action) ? action : NETWORK_ACTIONS[0]
}

function namesAround({
  depth,
  domain,
}: Extract<NetworkPattern, { kind: 'name' }>): readonly string[] {
  const [below, deeper] = [`${OTHER}.${domain}`, `${OTHER}.${OTHER}.${domain}`]
  // A foreign domain with the same ending.
  const lookalike = `${OTHER}${domain}`
  if (depth === 'exact') return [domain, below, lookalike]
  return depth === 'one' ? [below, deeper, domain, lookalike] : [deeper, domain, below, lookalike]
}

function addressesAround(range: IpRange, { decision }: Rule): readonly string[] {
  const { family } = range
  const [first, last] = [firstAddress(range), lastAddress(range)]
  const around = [last, last + 1n, first, first - 1n].filter(
    (value) => value >= 0n && value >> BigInt(FAMILY_BITS[family]) === 0n,
  )
  const addresses = [...new Set(around)].map((value): IpAddress => ({ family, value }))
  // A deny also covers addresses that carry this address.
  if (family === 4 && decision === 'deny')
    addresses.splice(2, 0, { family: 6, value: TRANSLATED | last })
  return addresses.map(formatAddress)
}
