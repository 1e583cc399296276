import { parseJson } from '@palisade/protocol'
import { isUtf8 } from 'node:buffer'
import { createPublicKey, hash, verify, type KeyObject } from 'node:crypto'
import { z } from 'zod'

const ALGORITHM = 'EdDSA'
/** RFC 9449 §4.2; no other document of ours passes for a proof. */
const TYPE = 'dpop+jwt'
/** Either way: how far a machine's clock may be off, and how long a proof can be replayed. */
export const PROOF_LIFE_MS = 5 * 60 * 1000
const MAX_LENGTH = 2048

/** What a proof must have been made for. */
export interface ProvenRequest {
  readonly method: string
  /** Of the request, without query. */
  readonly path: string
  /** Under which the server may have been addressed, such as `https://palisade.example.com`. */
  readonly origins: readonly string[]
  /** The access token that is sent beside the proof, if any. */
  readonly accessToken?: string
}

/** A proof that holds; whether it was seen before is not known. */
export interface Proof {
  /** RFC 7638, SHA-256 in base64url: the name of a key. */
  readonly thumbprint: string
  readonly jti: string
  readonly issuedMs: number
}

/** The key that the header of a proof names. */
export interface NamedKey {
  readonly thumbprint: string
  readonly publicKey: KeyObject
}

/** Answers null for what is no header of a proof. */
export type ReadHeader = (header: string) => NamedKey | null

/** Strict, so that a private member never gets this far unnoticed (RFC 9449 §4.3, 7). */
const keySchema = z.strictObject({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  // A second spelling of the same 32 bytes would be a second thumbprint of the same key.
  x: z.string().refine((x) => Buffer.from(x, 'base64url').length === 32 && isCanonical(x)),
})
const headerSchema = z.object({
  typ: z.literal(TYPE),
  alg: z.literal(ALGORITHM),
  jwk: keySchema,
  // Extensions that whoever reads it must know (RFC 7515 §4.1.11): none is known here.
  crit: z.never().optional(),
})
const claimsSchema = z.object({
  htm: z.string(),
  htu: z.string(),
  iat: z.number(),
  jti: z.string().min(1).max(128),
  ath: z.string().optional(),
  // A life of its own, which nobody here judges.
  exp: z.never().optional(),
  nbf: z.never().optional(),
})
/** A compact JWS; 64 bytes of signature. */
const JWS = /^(?<signed>(?<header>[\w-]+)\.(?<claims>[\w-]+))\.(?<signature>[\w-]{86})$/

/**
 * Verifies that whoever sends a request holds the private key that the proof names: a compact JWS
 * with EdDSA, the key in its header (RFC 9449). Answers a sentence for a proof that does not hold.
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
  if (htm !== wanted.method) return `has another \`htm\` than \`${wanted.method}\``
  // Joined and not resolved: against a path such as `//other`, an origin would count for nothing.
  const urls = wanted.origins.map((origin) => new URL(new URL(origin).origin + wanted.path).href)
  if (!isPlainUrl(htu) || !urls.includes(new URL(htu).href))
    return `has another \`htu\` than \`${urls[0] ?? ''}\``
  if (wanted.accessToken !== undefined && ath !== hash('sha256', wanted.accessToken, 'base64url'))
    return 'has no `ath` of this access token'
  const issuedMs = iat * 1000
  if (Math.abs(now.getTime() - issuedMs) > PROOF_LIFE_MS)
    return 'has an `iat` more than 5 minutes off; set the clock of the machine'
  return { thumbprint, jti, issuedMs }
}

/** What `verifyProof` reads a header by, unless it is told otherwise. */
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
 * What the key in its header has signed. Of one algorithm and one form, so here and not by jose,
 * whose way through Web Crypto and its threads was measured to take twice as long: the most of what
 * a change costs the server of a fleet.
 */
function readSigned(text: string, read: ReadHeader): Signed | string {
  if (text.length > MAX_LENGTH) return `must be at most ${MAX_LENGTH} characters`
  const parts = JWS.exec(text)?.groups
  const key = read(parts?.['header'] ?? '')
  if (parts === undefined || key === null)
    return 'must be one JWT of type `dpop+jwt` by EdDSA, with an Ed25519 public key as `jwk` in its header'
  const claims = claimsSchema.safeParse(readPart(parts['claims']))
  if (!claims.success || !isSignature(parts['signed'], parts['signature'], key.publicKey))
    return 'must be signed by its key, with htm, htu, iat and jti'
  return { thumbprint: key.thumbprint, claims: claims.data }
}

/**
 * RFC 7638 §3, at once: the library's waits for a thread, measured 0.1 ms of 0.5 for a whole proof.
 */
function thumbprintOf({ kty, crv, x }: z.infer<typeof keySchema>): string {
  return hash('sha256', JSON.stringify({ crv, kty, x }), 'base64url')
}

/**
 * Undefined for what is not JSON in UTF-8 in base64url. Node passes over what does not belong in
 * either, so that one proof could be read in two ways.
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
