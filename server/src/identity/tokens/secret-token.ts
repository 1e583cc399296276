import {
  ENROLMENT_TOKEN_PREFIX,
  ORGANIZATION_TOKEN_PREFIX,
  PERSONAL_TOKEN_PREFIX,
} from '@palisade/protocol'
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'

const PREFIXES = {
  personal: PERSONAL_TOKEN_PREFIX,
  organization: ORGANIZATION_TOKEN_PREFIX,
  enrolment: ENROLMENT_TOKEN_PREFIX,
} as const
export type TokenKind = keyof typeof PREFIXES

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 62^43 > 2^256 and 62^6 > 2^32. */
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6
const SECRET_BYTES = 32

/**
 * A new secret: prefix, 256 random bits and a CRC-32, in base62. The checksum lets secret scanners
 * recognize tokens, and lets typing errors be refused without reading the store.
 */
export function createSecretToken(kind: TokenKind, random: (bytes: number) => Uint8Array): string {
  const bits = BigInt(`0x${Buffer.from(random(SECRET_BYTES)).toString('hex')}`)
  const body = PREFIXES[kind] + formatBase62(bits, SECRET_LENGTH)
  return body + checksumOf(body)
}

/** The kind of a well-formed secret token; null for any other text. */
export function kindOfSecretToken(text: string): TokenKind | null {
  const kind = claimedKind(text)
  if (kind === null || !/^pal_[a-z]{3}_[0-9A-Za-z]{49}$/.test(text)) return null
  const body = text.slice(0, -CHECKSUM_LENGTH)
  return text.slice(-CHECKSUM_LENGTH) === checksumOf(body) ? kind : null
}

/** The kind that the prefix claims, even if the token is malformed. */
export function claimedKind(text: string): TokenKind | null {
  const kinds = Object.keys(PREFIXES) as TokenKind[]
  return kinds.find((kind) => text.startsWith(PREFIXES[kind])) ?? null
}

/** The stored form of a secret token. 256 random bits need no slow hash. */
export function hashSecretToken(token: string): string {
  return hash('sha256', token, 'hex')
}

function checksumOf(body: string): string {
  return formatBase62(BigInt(crc32(body)), CHECKSUM_LENGTH)
}

function formatBase62(value: bigint, length: number): string {
  const base = BigInt(ALPHABET.length)
  let rest = value
  let text = ''
  for (let position = 0; position < length; position += 1) {
    text = ALPHABET.charAt(Number(rest % base)) + text
    rest /= base
  }
  return text
}
