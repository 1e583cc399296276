/** Devices that are remembered; one more drops the one that was admitted longest ago. */
const MAX_DEVICES = 100_000

/** What asking the store for a device gave, and as of when. */
export interface KnownDevice {
  readonly deviceId: string
  /** `Store.generation` from before the store was asked: another one, and nothing here counts. */
  readonly generation: number
  /** Instants (milliseconds) from which and until which the bundle is the one to be had. */
  readonly fromMs: number
  readonly untilMs: number
  /** Of the bundle, as `BundleCache` has it. */
  readonly version: string
  readonly etag: string
}

/**
 * Admitted devices by the hash of their token. Only a device that the store admitted is kept, once,
 * so that no stranger can fill it, and a fleet of any size costs the others a query at most.
 */
export interface KnownDevices {
  find(tokenHash: string): KnownDevice | null
  keep(tokenHash: string, device: KnownDevice): void
  drop(tokenHash: string): void
}

export function createKnownDevices(maxDevices = MAX_DEVICES): KnownDevices {
  const devices = new Map<string, KnownDevice>()
  return {
    find: (tokenHash) => devices.get(tokenHash) ?? null,
    keep(tokenHash, device) {
      devices.delete(tokenHash)
      devices.set(tokenHash, device)
      if (devices.size <= maxDevices) return
      for (const oldest of devices.keys()) {
        devices.delete(oldest)
        return
      }
    },
    drop: (tokenHash) => void devices.delete(tokenHash),
  }
}
