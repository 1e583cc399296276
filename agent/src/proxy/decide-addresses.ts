import { canonicalAddress, type ConnectRequest, type Decision } from '@palisade/policy-core'
import { setImmediate as pause } from 'node:timers/promises'
import type { Resolve } from './resolver.ts'

/** More addresses than this of one name are not looked at. */
const MAX_ADDRESSES = 16

export interface DecidedAddress<D> {
  /** Canonical. */
  readonly address: string
  readonly decision: D
}

/**
 * Resolves the name of `request`, once, and decides every address that it has, in the order of the
 * resolver. Rejects when the name cannot be resolved. Whether it may be, the caller has decided.
 *
 * Each address has a turn of the event loop of its own: where thousands of rules match, the
 * decisions on all of them together would hold up those of others.
 */
export async function decideAddresses<D extends Decision>(
  { decide, resolve }: { readonly decide: (request: unknown) => D; readonly resolve: Resolve },
  request: ConnectRequest,
): Promise<readonly DecidedAddress<D>[]> {
  const found = await resolve(request.host)
  const addresses = found.map(canonicalAddress).filter((address) => address !== null)
  const decided: DecidedAddress<D>[] = []
  for (const address of [...new Set(addresses)].slice(0, MAX_ADDRESSES)) {
    if (decided.length > 0) await pause()
    decided.push({ address, decision: decide({ ...request, address }) })
  }
  return decided
}
