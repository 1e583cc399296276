/** A policy may have 400 KB, so entries differ a thousandfold and bytes are what is bounded. */
const MAX_BYTES = 64 * 1024 * 1024
/** What an entry costs besides its body. */
const ENTRY_BYTES = 512

/** A compact JWS as it is sent, and its strong entity tag with the quotes. */
export interface SignedBundle {
  readonly body: Buffer
  readonly etag: string
}

/** The last bundle of each device, least recently used first. */
export interface BundleCache {
  find(deviceId: string, version: string): SignedBundle | null
  keep(deviceId: string, version: string, bundle: SignedBundle): void
}

/** Keeps at most 64 MiB. */
export function createBundleCache(): BundleCache {
  const entries = new Map<string, { version: string; bundle: SignedBundle }>()
  let bytes = 0

  function drop(deviceId: string): void {
    const entry = entries.get(deviceId)
    if (entry === undefined) return
    entries.delete(deviceId)
    bytes -= entry.bundle.body.length + ENTRY_BYTES
  }

  return {
    find(deviceId, version) {
      const entry = entries.get(deviceId)
      if (entry?.version !== version) return null
      entries.delete(deviceId)
      entries.set(deviceId, entry)
      return entry.bundle
    },

    keep(deviceId, version, bundle) {
      drop(deviceId)
      entries.set(deviceId, { version, bundle })
      bytes += bundle.body.length + ENTRY_BYTES
      for (const oldest of entries.keys()) {
        if (bytes <= MAX_BYTES) return
        drop(oldest)
      }
    },
  }
}
