import { createRecent } from '../../platform/recent.ts'
import type { NamedKey } from './verify-proof.ts'

/** Each takes some two kilobytes. */
const MAX_DEVICES = 10_000

/**
 * The header of the last proof of each machine, which is the same each time, with the key that it
 * names. One for each machine: a header may hold whatever its maker likes, so that one machine
 * could make any number of them, each as long as a proof may be, and push out those of all others.
 */
export interface KnownKeys {
  /** Null for any other header than the last one of this machine. */
  find(deviceId: string, header: string): NamedKey | null
  /** For a machine that is known by its token to have that key. */
  keep(deviceId: string, header: string, key: NamedKey): void
}

export function createKnownKeys(maxDevices = MAX_DEVICES): KnownKeys {
  const devices = createRecent<{ readonly header: string; readonly key: NamedKey }>(
    maxDevices,
    () => 1,
  )
  return {
    find(deviceId, header) {
      const known = devices.find(deviceId)
      return known?.header === header ? known.key : null
    },
    keep(deviceId, header, key) {
      // A copy: V8 would hold on to the proof that it was cut out of.
      devices.keep(deviceId, { header: Buffer.from(header).toString(), key })
    },
  }
}
