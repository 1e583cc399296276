import { createLruCache } from '../../platform/lru-cache.ts'
import type { NamedKey } from './verify-proof.ts'

/** Each takes some two kilobytes. */
const MAX_DEVICES = 10_000

/**
 * Caches the parsed header of each machine's last proof, because a machine sends the same header
 * every time. One entry per machine: headers are free text, so a machine with an entry per header
 * could push out the entries of all others.
 */
export interface KnownKeys {
  /** Returns null unless the header is the last one of this machine. */
  find(deviceId: string, header: string): NamedKey | null
  /** Call this only for a machine whose token is bound to the key. */
  keep(deviceId: string, header: string, key: NamedKey): void
}

export function createKnownKeys(maxDevices = MAX_DEVICES): KnownKeys {
  const devices = createLruCache<{ readonly header: string; readonly key: NamedKey }>(
    maxDevices,
    () => 1,
  )
  return {
    find(deviceId, header) {
      const known = devices.find(deviceId)
      return known?.header === header ? known.key : null
    },
    keep(deviceId, header, key) {
      // A copy, because a slice would keep the whole proof in memory.
      devices.keep(deviceId, { header: Buffer.from(header).toString(), key })
    },
  }
}
