import { canonicalAddress } from '@palisade/policy-core'
import { isIPv4, type Socket } from 'node:net'
import {
  loadSocketOptions,
  type Koffi,
  type ReadSocketOption,
} from '../../host/process-lookup/socket-options.ts'
import type { TcpEndpoint } from '../../host/process-lookup/tcp-table.ts'
import { withoutMapping } from './socket-addresses.ts'

/** Where the program of a redirected connection wanted to go; null for a closed connection. */
export type FindDestination = (client: Socket) => TcpEndpoint | null

export type LoadedDestinations =
  | { readonly ok: true; readonly find: FindDestination }
  /** `problem` names the missing part for people. */
  | { readonly ok: false; readonly problem: string }

/** `SO_ORIGINAL_DST` and `IP6T_SO_ORIGINAL_DST` of linux/netfilter have one number. */
const ORIGINAL_DESTINATION = 80
const LEVEL = { ipv4: 0, ipv6: 41 } as const
const FAMILY = { ipv4: 2, ipv6: 10 } as const
/** Size of `sockaddr_in6`, see ipv6(7). */
const ADDRESS_BYTES = 28

/**
 * Loads the native call, which Node does not offer. Only an agent with sandboxes loads it. A
 * sandbox may not start after a failure.
 */
export async function loadDestinations(
  load?: () => Promise<{ readonly default: Koffi }>,
): Promise<LoadedDestinations> {
  const loaded = await loadSocketOptions(load)
  if (loaded.ok) return { ok: true, find: createFindDestination(loaded.read) }
  return {
    ok: false,
    problem:
      'the agent cannot read where captured connections lead, because the package `koffi` ' +
      `does not load (${loaded.reason}); install the packages again with \`npm run build\``,
  }
}

function createFindDestination(read: ReadSocketOption): FindDestination {
  return (client) => {
    const { remoteAddress } = client
    if (remoteAddress === undefined) return null
    const value = Buffer.alloc(ADDRESS_BYTES)
    // A socket of both families has IPv4 addresses in IPv6, but the option of IPv4.
    const level = isIPv4(withoutMapping(remoteAddress)) ? LEVEL.ipv4 : LEVEL.ipv6
    return read(client, { level, name: ORIGINAL_DESTINATION }, value)
      ? readSocketAddress(value)
      : null
  }
}

/** Reads `sockaddr_in` or `sockaddr_in6`; the family is in the byte order of the processor. */
function readSocketAddress(value: Buffer): TcpEndpoint | null {
  const [family] = new Uint16Array(value.buffer, value.byteOffset, 1)
  const port = value.readUInt16BE(2)
  if (family === FAMILY.ipv4) return { address: value.subarray(4, 8).join('.'), port }
  if (family !== FAMILY.ipv6) return null
  const words = Array.from({ length: 8 }, (_, at) => value.readUInt16BE(8 + 2 * at).toString(16))
  const address = canonicalAddress(words.join(':'))
  return address === null ? null : { address, port }
}
