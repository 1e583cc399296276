import type { Config } from './config.ts'
import type { Log } from '../operations/log/create-log.ts'
import { isEveryAddress, isLoopback } from '../platform/origin.ts'
import type { Store } from '../store/store.ts'

/** Warns of valid settings that operators rarely intend. */
export async function warnAtStart(
  log: Log,
  config: Pick<Config, 'tls' | 'publicUrl'>,
  address: string,
  store: Pick<Store, 'read'>,
): Promise<void> {
  const { tls, publicUrl } = config
  if (tls === null && !isLoopback(address) && publicUrl?.startsWith('https:') !== true)
    log.warn(
      'passwords and tokens cross the network in clear text: ' +
        'set `PALISADE_TLS_CERT` and `PALISADE_TLS_KEY`, ' +
        'or put a TLS proxy in front and set `PALISADE_PUBLIC_URL` to its origin',
    )
  if (publicUrl === null && isEveryAddress(address))
    log.warn(
      'no machine can be enrolled: ' +
        'set `PALISADE_PUBLIC_URL` to the origin under which machines reach this server',
    )
  if ((await store.read((reader) => reader.organizations.count())) === 0)
    log.warn(
      'there is no organization; ' +
        'create the first with `palisade-server init --org NAME --owner USER`',
    )
}
