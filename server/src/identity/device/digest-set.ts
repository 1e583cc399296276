/** Bytes kept of each digest; no two digests that share so many are ever found. */
const BYTES = 16

/** SHA-256 digests, of which the first 16 bytes count. */
export interface DigestSet {
  has(digest: Buffer): boolean
  add(digest: Buffer): void
  size(): number
}

/**
 * Has a `Set` for each first byte: a set copies all of its entries when it grows, and with all
 * digests in one of them the event loop would stand still meanwhile (bench: fleet/proofs).
 */
export function createDigestSet(): DigestSet {
  const parts = new Map<number, Set<string>>()
  let size = 0

  function partOf(digest: Buffer): Set<string> {
    const first = digest.readUInt8()
    const part = parts.get(first) ?? new Set<string>()
    parts.set(first, part)
    return part
  }

  return {
    has: (digest) => partOf(digest).has(nameOf(digest)),
    add(digest) {
      const part = partOf(digest)
      const before = part.size
      part.add(nameOf(digest))
      size += part.size - before
    },
    size: () => size,
  }
}

function nameOf(digest: Buffer): string {
  return digest.toString('latin1', 0, BYTES)
}
