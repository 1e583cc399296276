import { parseJson } from '@palisade/protocol'
import { isUtf8 } from 'node:buffer'
import { createPublicKey, hash, verify, type KeyObject } from 'node:crypto'
import { z } from 'zod'

const ALGORITHM = 'EdDSA'
/** RFC 9449 §4.2. The type keeps other signed documents of Palisade from passing as proofs. */
const TYPE = 'dpop+jwt'
/** Longest distance of `iat` from now, before or after. It bounds clock skew and replays. */
export const PROOF_LIFE_MS = 5 * 60 * 1000
const MAX_LENGTH = 2048

/** The request that a proof must be bound to. */
export interface ProvenRequest {
  readonly method: string
  /** Path of the request, without the query. */
  readonly path: string
  /** Accepted origins of the server, such as `https://palisade.example.com`. */
  readonly origins: readonly string[]
  /** The access token sent with the proof, if any. */
  readonly accessToken?: string
}

/** A valid proof. It may be a replay. */
export interface Proof {
  /** RFC 7638 thumbprint of the key: SHA-256 in base64url. */
  readonly thumbprint: string
  readonly jti: string
  readonly issuedMs: number
}

/** The key in the header of a proof. */
export interface NamedKey {
  readonly thumbprint: string
  readonly publicKey: KeyObject
}

/** Returns null for an invalid header. */
export type ReadHeader = (header: string) => NamedKey | null

/** Strict, so that a JWK with a private key is refused (RFC 9449 §4.3, item 7). */
const keySchema = z.strictObject({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  // Another encoding of the same 32 bytes would give one key a second thumbprint.
  x: z.string().refine((x) => Buffer.from(x, 'base64url').length === 32 && isCanonical(x)),
})
const headerSchema = z.object({
  typ: z.literal(TYPE),
  alg: z.literal(ALGORITHM),
  jwk: keySchema,
  // Critical extensions (RFC 7515 §4.1.11): this server supports none.
  crit: z.never().optional(),
})
const claimsSchema = z.object({
  htm: z.string(),
  htu: z.string(),
  iat: z.number(),
  jti: z.string().min(1).max(128),
  ath: z.string().optional(),
  // A proof with a lifetime of its own is refused, because only `iat` is checked.
  exp: z.never().optional(),
  nbf: z.never().optional(),
})
/** A compact JWS with a signature of 64 bytes. */
const JWS = /^(?<signed>(?<header>[\w-]+)\.(?<claims>[\w-]+))\.(?<signature>[\w-]{86})$/

/**
 * Verifies that the sender of a request holds the private key of the proof (RFC 9449): a compact
 * JWS with EdDSA whose header contains the public key. Returns the problem of an invalid proof as
 * text.
 */
export function verifyProof(
  text: string,
  wanted: ProvenRequest,
  now: Date,
  read: ReadHeader = readHeader,
): Proof | string {
  const signed = readSigned(text, read)
  if (typeof signed === 'string') return signed
  const { thumbprint, claims } = signed
  const { htm, htu, iat, jti, ath } = claims
  if (htm !== wanted.method) return `has an \`htm\` other than \`${wanted.method}\``
  // Concatenated, not resolved: a path such as `//other` would replace the host of the origin.
  const urls = wanted.origins.map((origin) => new URL(new URL(origin).origin + wanted.path).href)
  if (!isPlainUrl(htu) || !urls.includes(new URL(htu).href))
    return `has an \`htu\` other than \`${urls[0] ?? ''}\``
  if (wanted.accessToken !== undefined && ath !== hash('sha256', wanted.accessToken, 'base64url'))
    return 'has no `ath` for this access token'
  const issuedMs = iat * 1000
  if (Math.abs(now.getTime() - issuedMs) > PROOF_LIFE_MS)
    return 'has an `iat` more than 5 minutes off; set the clock of the machine'
  return { thumbprint, jti, issuedMs }
}

/** The default of `verifyProof` for reading headers; no cache. */
export function readHeader(text: string): NamedKey | null {
  const header = headerSchema.safeParse(readPart(text))
  if (!header.success) return null
  const { jwk } = header.data
  return {
    thumbprint: thumbprintOf(jwk),
    publicKey: createPublicKey({ key: jwk, format: 'jwk' }),
  }
}

interface Signed {
  readonly thumbprint: string
  readonly claims: z.infer<typeof claimsSchema>
}

/**
 * Verifies the signature by the key in the header. It does not use jose, which goes through Web
 * Crypto and its threads: proofs have one algorithm and one form, and are most of the work that a
 * policy change causes for the server of a fleet. bench: server/update
 */
function readSigned(text: string, read: ReadHeader): Signed | string {
  if (text.length > MAX_LENGTH) return `must be at most ${MAX_LENGTH} characters`
  const parts = JWS.exec(text)?.groups
  const key = read(parts?.['header'] ?? '')
  if (parts === undefined || key === null)
    return 'must be one EdDSA JWT of type `dpop+jwt` with an Ed25519 key as header `jwk`'
  const claims = claimsSchema.safeParse(readPart(parts['claims']))
  if (!claims.success || !isSignature(parts['signed'], parts['signature'], key.publicKey))
    return 'must be signed by its key and have the claims `htm`, `htu`, `iat` and `jti`'
  return { thumbprint: key.thumbprint, claims: claims.data }
}

/** RFC 7638 §3, synchronous: jose would wait for a thread. bench: server/update */
function thumbprintOf({ kty, crv, x }: z.infer<typeof keySchema>): string {
  return hash('sha256', JSON.stringify({ crv, kty, x }), 'base64url')
}

/**
 * Returns undefined unless the part is base64url of JSON in UTF-8. Node's decoders skip invalid
 * bytes and characters, so one proof would have several readings.
 */
function readPart(part = ''): unknown {
  const bytes = Buffer.from(part, 'base64url')
  if (bytes.toString('base64url') !== part || !isUtf8(bytes)) return undefined
  const json = parseJson(bytes.toString())
  return json.ok ? json.value : undefined
}

function isSignature(signed = '', signature = '', key: KeyObject): boolean {
  return verify(null, Buffer.from(signed), key, Buffer.from(signature, 'base64url'))
}

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { search, hash: fragment, username, password } = new URL(text)
  return search === '' && fragment === '' && username === '' && password === ''
}

function isCanonical(base64url: string): boolean {
  return Buffer.from(base64url, 'base64url').toString('base64url') === base64url
}
