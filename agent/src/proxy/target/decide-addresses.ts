import { canonicalAddress, type ConnectRequest, type Decision } from '@palisade/policy-core'
import { setImmediate as pause } from 'node:timers/promises'
import type { Resolve } from './resolver.ts'

/** Further addresses of a name are ignored. */
const MAX_ADDRESSES = 16

export interface DecidedAddress<D> {
  /** Canonical. */
  readonly address: string
  readonly decision: D
}

/**
 * Resolves the name of `request` once and decides each of its addresses, in resolver order. Rejects
 * when the name cannot be resolved. The caller has decided that it may be resolved.
 *
 * Each address gets its own turn of the event loop: where thousands of rules match, deciding all of
 * them at once would delay the decisions of other programs.
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
