import { BUNDLE_SCHEMA, BUNDLE_TYPE, bundleSchema, parseJson } from '@palisade/protocol'
import type { Bundle, Enrolment, PublicKey } from '@palisade/protocol'
import { compactVerify, errors, importJWK } from 'jose'
import { z } from 'zod'
import { decodeUtf8 } from '../config/private-file.ts'
import { fault, type Fault } from './fault.ts'

/** What a bundle must not fall behind: the newest one that was ever in force here. */
export interface Floor {
  readonly revision: number
  /** RFC 3339 UTC with milliseconds, so that text order is time order. */
  readonly issued_at: string
}

/** A document of the right signer for this machine that this version cannot read. */
export interface UnsupportedBundle extends Floor {
  readonly kind: 'unsupported'
  readonly message: string
}

export type Verified =
  { readonly kind: 'bundle'; readonly bundle: Bundle } | UnsupportedBundle | Fault

export interface Expectation {
  readonly enrolment: Pick<Enrolment, 'org' | 'device_id' | 'user' | 'bundle_keys'>
  readonly floor: Floor | null
  readonly nowMs: number
  /** A cached bundle may have expired: it is then in force as expired, and denies. */
  readonly acceptExpired: boolean
}

/** The claims that every version of the document has, whatever else it may come to hold. */
const identitySchema = z.object({
  schema: z.int(),
  org: z.string(),
  device_id: z.string(),
  user: z.string().nullable(),
  revision: z.int().nonnegative(),
  issued_at: z.iso.datetime({ precision: 3 }),
  expires_at: z.iso.datetime({ precision: 3 }),
})
type Identity = z.infer<typeof identitySchema>

const headerSchema = z.object({ alg: z.string(), typ: z.string(), kid: z.string() })

/**
 * Judges a compact JWS: signature by a pinned key, kind, addressee, order and time, then content.
 * Nothing of the payload is looked at before the signature holds. Never rejects.
 */
export async function verifyBundle(jws: string, expected: Expectation): Promise<Verified> {
  const key = selectKey(jws, expected.enrolment.bundle_keys.keys)
  if ('kind' in key) return key
  const payload = await verifySignature(jws, key)
  if (!(payload instanceof Uint8Array)) return payload
  const text = decodeUtf8(payload)
  if (text === null) return fault('malformed', 'the bundle is not UTF-8 text')
  const json = parseJson(text)
  if (!json.ok) return fault('malformed', `the bundle is not usable JSON: ${json.problem.message}`)
  const identity = identitySchema.safeParse(json.value)
  if (!identity.success) {
    const member = identity.error.issues[0]?.path.join('.') ?? ''
    const message = member === '' ? 'is not a JSON object' : `has no proper \`${member}\``
    return fault('malformed', `the bundle ${message}`)
  }
  return (
    checkAddressee(identity.data, expected.enrolment) ??
    checkOrder(identity.data, expected.floor) ??
    checkTime(identity.data, expected) ??
    readContent(identity.data, json.value)
  )
}

/** The pinned key that the header names. Only `alg`, `typ` and `kid` of the header are believed. */
function selectKey(jws: string, keys: readonly PublicKey[]): PublicKey | Fault {
  const encoded = /^([\w-]+)\.[\w-]+\.[\w-]*$/.exec(jws)?.[1]
  const text = encoded === undefined ? null : decodeUtf8(Buffer.from(encoded, 'base64url'))
  const json = text === null ? null : parseJson(text)
  const header = json?.ok === true ? headerSchema.safeParse(json.value) : null
  if (header?.success !== true)
    return fault('malformed', 'the document is not a compact JWS with `alg`, `typ` and `kid`')
  if (header.data.alg !== 'EdDSA')
    return fault('wrong_algorithm', 'the document is not signed with EdDSA')
  if (header.data.typ !== BUNDLE_TYPE) return fault('wrong_type', 'the document is not a bundle')
  const key = keys.find((candidate) => candidate.kid === header.data.kid)
  return key ?? fault('unknown_key', 'the document is signed by a key that is not in the enrolment')
}

async function verifySignature(jws: string, key: PublicKey): Promise<Uint8Array | Fault> {
  try {
    const imported = await importJWK({ ...key, alg: 'EdDSA' })
    const verified = await compactVerify(jws, imported, { algorithms: ['EdDSA'] })
    return verified.payload
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed)
      return fault('bad_signature', 'the signature of the bundle does not hold')
    return fault('malformed', 'the document is not a compact JWS that this agent accepts')
  }
}

function checkAddressee(identity: Identity, enrolment: Expectation['enrolment']): Fault | null {
  if (identity.org !== enrolment.org)
    return fault('wrong_organization', 'the bundle is for another organization')
  if (identity.device_id !== enrolment.device_id)
    return fault('wrong_device', 'the bundle is for another device')
  if (identity.user !== enrolment.user) return fault('wrong_user', 'the bundle is for another user')
  return null
}

function checkOrder(identity: Identity, floor: Floor | null): Fault | null {
  if (floor === null || identity.revision > floor.revision) return null
  if (identity.revision < floor.revision)
    return fault(
      'older_revision',
      `the bundle has revision ${identity.revision}, older than ${floor.revision} in force`,
    )
  if (identity.issued_at < floor.issued_at)
    return fault('older_issue', `the bundle was issued before the one in force`)
  return null
}

function checkTime(identity: Identity, expected: Expectation): Fault | null {
  if (identity.expires_at <= identity.issued_at)
    return fault('malformed', 'the bundle expires before it was issued')
  if (!expected.acceptExpired && expected.nowMs >= Date.parse(identity.expires_at))
    return fault('expired', `the bundle expired at ${identity.expires_at}`)
  return null
}

function readContent(identity: Identity, value: unknown): Verified {
  const { revision, issued_at } = identity
  if (identity.schema !== BUNDLE_SCHEMA) {
    const message = `the bundle has schema ${identity.schema}, this agent reads ${BUNDLE_SCHEMA}; update the agent`
    return { kind: 'unsupported', revision, issued_at, message }
  }
  const bundle = bundleSchema.safeParse(value)
  if (bundle.success) return { kind: 'bundle', bundle: bundle.data }
  const member = bundle.error.issues[0]?.path.join('.') || 'the document'
  const message = `the bundle holds what this agent does not know, at \`${member}\`; update the agent`
  return { kind: 'unsupported', revision, issued_at, message }
}
