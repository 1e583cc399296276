import type { AddressInfo, Server } from 'node:net'
import { conflict } from '../platform/api-error.ts'
import { formatOrigin, isEveryAddress } from '../platform/origin.ts'

/** Where the server is to listen. */
export interface ListenSettings {
  readonly host: string
  /** 0 means any free port. */
  readonly port: number
  readonly scheme: 'http' | 'https'
}

/** A listener of Node, bound or not yet. */
export type Listener = Pick<Server, 'address'>

/** The bound address, or the configured host and port before the server listens. */
export function boundAddress(
  listener: Listener,
  { host, port }: ListenSettings,
): Pick<AddressInfo, 'address' | 'port'> {
  const bound = listener.address()
  return typeof bound === 'object' && bound !== null ? bound : { address: host, port }
}

/** The listening origin; with port 0 it is known only once the server listens. */
export function listeningOrigin(listener: Listener, settings: ListenSettings): string {
  const { address, port } = boundAddress(listener, settings)
  // The configured name is more useful than its address, unless it stands for every address.
  const host = isEveryAddress(address) ? address : settings.host
  return formatOrigin(settings.scheme, host, port)
}

/** The origin given to machines. Throws ApiError when only the operator can know it. */
export function reachableOrigin(listener: Listener, settings: ListenSettings): string {
  if (isEveryAddress(boundAddress(listener, settings).address))
    throw conflict(
      'this server does not know the origin under which machines reach it; ' +
        'its operator must set `PALISADE_PUBLIC_URL`',
    )
  return listeningOrigin(listener, settings)
}
