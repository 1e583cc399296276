const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const LENGTH = 28
const RANDOM_BITS = 92n
const RANDOM_BYTES = 12

export type IdPrefix = 'pol' | 'rule'

/**
 * A new id: prefix, `_`, and 28 lower-case Crockford base32 characters of 48 bits of milliseconds
 * and 92 random bits. Ids of different milliseconds sort by time.
 */
export function createId(
  prefix: IdPrefix,
  now: Date,
  random: (bytes: number) => Uint8Array,
): string {
  const bytes = Buffer.from(random(RANDOM_BYTES)).toString('hex')
  const randomBits = BigInt.asUintN(Number(RANDOM_BITS), BigInt(`0x${bytes}`))
  const milliseconds = BigInt.asUintN(48, BigInt(now.getTime()))
  return `${prefix}_${formatBase32((milliseconds << RANDOM_BITS) | randomBits)}`
}

function formatBase32(value: bigint): string {
  let text = ''
  for (let rest = value; text.length < LENGTH; rest >>= 5n)
    text = ALPHABET.charAt(Number(rest & 31n)) + text
  return text
}
