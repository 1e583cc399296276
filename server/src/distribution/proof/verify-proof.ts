import { decodeProtectedHeader, importJWK, jwtVerify } from 'jose'
import { z } from 'zod'
import { hash } from 'node:crypto'

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

/** Strict, so that a private member never gets this far unnoticed (RFC 9449 §4.3, 7). */
const keySchema = z.strictObject({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  // A second spelling of the same 32 bytes would be a second thumbprint of the same key.
  x: z.string().refine((x) => Buffer.from(x, 'base64url').length === 32 && isCanonical(x)),
})
const claimsSchema = z.object({
  htm: z.string(),
  htu: z.string(),
  iat: z.number(),
  jti: z.string().min(1).max(128),
  ath: z.string().optional(),
})

/**
 * Verifies that whoever sends a request holds the private key that the proof names: a compact JWS
 * with EdDSA, the key in its header (RFC 9449). Answers a sentence for a proof that does not hold.
 */
export async function verifyProof(
  text: string,
  wanted: ProvenRequest,
  now: Date,
): Promise<Proof | string> {
  if (text.length > MAX_LENGTH) return `must be at most ${MAX_LENGTH} characters`
  const key = readKey(text)
  if (key === null) return 'must be one JWT with an Ed25519 public key as `jwk` in its header'
  const claims = claimsSchema.safeParse(await readClaims(text, key, now))
  if (!claims.success)
    return 'must be signed by its key with EdDSA, of type `dpop+jwt`, with htm, htu, iat and jti'
  const { htm, htu, iat, jti, ath } = claims.data
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
  return { thumbprint: thumbprintOf(key), jti, issuedMs }
}

type PublicKey = z.infer<typeof keySchema>

/** RFC 7638 §3, at once: the library's waits for a thread, measured 0.1 ms of 0.5 for a whole proof. */
function thumbprintOf({ kty, crv, x }: PublicKey): string {
  return hash('sha256', JSON.stringify({ crv, kty, x }), 'base64url')
}

function readKey(text: string): PublicKey | null {
  try {
    return keySchema.safeParse(decodeProtectedHeader(text).jwk).data ?? null
  } catch {
    return null
  }
}

/** Null for every way in which the signature does not hold. */
async function readClaims(text: string, jwk: PublicKey, now: Date): Promise<unknown> {
  try {
    const key = await importJWK(jwk, ALGORITHM)
    const options = { algorithms: [ALGORITHM], typ: TYPE, currentDate: now }
    return (await jwtVerify(text, key, options)).payload
  } catch {
    return null
  }
}

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { search, hash: fragment, username, password } = new URL(text)
  return search === '' && fragment === '' && username === '' && password === ''
}

function isCanonical(base64url: string): boolean {
  return Buffer.from(base64url, 'base64url').toString('base64url') === base64url
}
