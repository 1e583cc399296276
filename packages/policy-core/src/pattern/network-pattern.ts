import type { IpAddress } from '../address/ip-address.ts'
import { rangeContains, type IpRange } from '../address/ip-range.ts'

/** Number of labels below the domain of a name pattern: zero, exactly one, one or more. */
export type Depth = 'exact' | 'one' | 'any'

/** A network resource in canonical form; `port` null means every port. */
export type NetworkPattern =
  | {
      readonly kind: 'name'
      /** Without the wildcard: `example.com` for `*.example.com`. */
      readonly domain: string
      readonly depth: Depth
      readonly port: number | null
    }
  | { readonly kind: 'range'; readonly range: IpRange; readonly port: number | null }

/** Tells whether a name pattern covers the canonical name, regardless of the port. */
export function patternCoversName(
  pattern: NetworkPattern & { kind: 'name' },
  name: string,
): boolean {
  if (pattern.depth === 'exact') return name === pattern.domain
  if (!name.endsWith(`.${pattern.domain}`)) return false
  return pattern.depth === 'any' || !name.slice(0, -pattern.domain.length - 1).includes('.')
}

/** Tells whether an address pattern covers the address, regardless of the port. */
export function patternCoversAddress(
  pattern: NetworkPattern & { kind: 'range' },
  address: IpAddress,
): boolean {
  return rangeContains(pattern.range, address)
}
