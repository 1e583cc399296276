const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const MILLISECOND_BYTES = 6
const RANDOM_BYTES = 12

export type IdPrefix = 'acr' | 'pol' | 'rule'

/**
 * Creates an id: prefix, `_`, and 28 lower-case Crockford base32 characters for 48 bits of
 * milliseconds and 92 random bits. Ids of different milliseconds sort by time.
 */
export function createId(
  prefix: IdPrefix,
  now: Date,
  random: (bytes: number) => Uint8Array,
): string {
  const bytes = Buffer.alloc(MILLISECOND_BYTES + RANDOM_BYTES)
  bytes.writeUIntBE(now.getTime() % 2 ** 48, 0, MILLISECOND_BYTES)
  bytes.set(random(RANDOM_BYTES), MILLISECOND_BYTES)
  return `${prefix}_${formatBase32(bytes)}`
}

/** Encodes 140 bits, five a character. The four highest random bits are dropped: 28 × 5 = 140. */
function formatBase32(bytes: Uint8Array): string {
  let text = ''
  let pending = 0
  let bits = 0
  for (let index = 0; index < bytes.length; index += 1) {
    const isHalf = index === MILLISECOND_BYTES
    const byte = bytes[index] ?? 0
    pending = ((pending << (isHalf ? 4 : 8)) | (isHalf ? byte & 15 : byte)) & 0xfff
    bits += isHalf ? 4 : 8
    for (; bits >= 5; bits -= 5) text += ALPHABET.charAt((pending >> (bits - 5)) & 31)
  }
  return text
}
