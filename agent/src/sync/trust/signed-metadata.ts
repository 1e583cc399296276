import { parseJson } from '@palisade/protocol'
import { canonicalize } from '@tufjs/canonical-json'
import { createPublicKey, hash, verify } from 'node:crypto'
import { z } from 'zod'

const MAX_VERSION = 2 ** 48

const instant = z.iso.datetime()
const version = z.int().positive().max(MAX_VERSION)
/** Only SHA-256: TUF would also accept MD5. */
const hashes = z.strictObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/) })

const rootSchema = z.object({
  _type: z.literal('root'),
  version,
  expires: instant,
  'x-org': z.string(),
  consistent_snapshot: z.literal(true),
  keys: z.record(
    z.string(),
    z.object({
      keytype: z.literal('ed25519'),
      scheme: z.literal('ed25519'),
      keyval: z.object({ public: z.string().regex(/^[0-9a-f]{64}$/) }),
    }),
  ),
  roles: z.record(
    z.string(),
    z.object({ keyids: z.array(z.string()), threshold: z.int().positive() }),
  ),
})
export type Root = z.infer<typeof rootSchema>

const metaFile = z.object({ version, length: z.int().positive(), hashes })

const timestampSchema = z.object({
  _type: z.literal('timestamp'),
  version,
  expires: instant,
  'x-org': z.string(),
  'x-view': z.string(),
  'x-issued': instant,
  meta: z.strictObject({ 'snapshot.json': metaFile }),
})
export type Timestamp = z.infer<typeof timestampSchema>

const snapshotSchema = z.object({
  _type: z.literal('snapshot'),
  version,
  expires: instant,
  meta: z.strictObject({ 'targets.json': metaFile }),
})
export type Snapshot = z.infer<typeof snapshotSchema>

const targetsSchema = z.object({
  _type: z.literal('targets'),
  version,
  expires: instant,
  'x-org': z.string(),
  'x-view': z.string(),
  /** Parsed after verification, because a later version may have other settings. */
  'x-settings': z.unknown(),
  targets: z.record(
    z.string(),
    z.object({ length: z.int().positive(), hashes, custom: z.unknown() }),
  ),
})
export type Targets = z.infer<typeof targetsSchema>

export type Role = 'root' | 'timestamp' | 'snapshot' | 'targets'

const fileSchema = z.object({
  signatures: z.array(z.object({ keyid: z.string(), sig: z.string() })),
  signed: z.unknown(),
})
/** A signed file that is parsed once and used several times. */
export type SignedFile = z.infer<typeof fileSchema>

/** Reads the content of a file by its form; null for another form. Does not verify it. */
export function readRoot(file: string | SignedFile): Root | null {
  return readSigned(file, rootSchema)
}
export function readTimestamp(file: string | SignedFile): Timestamp | null {
  return readSigned(file, timestampSchema)
}
export function readSnapshot(file: string | SignedFile): Snapshot | null {
  return readSigned(file, snapshotSchema)
}
export function readTargets(file: string | SignedFile): Targets | null {
  return readSigned(file, targetsSchema)
}
export function readSigned<T>(file: string | SignedFile, schema: z.ZodType<T>): T | null {
  const signed = schema.safeParse(open(file)?.signed)
  return signed.success ? signed.data : null
}

/** Whether enough of the keys that `root` names for `role` have signed the file. */
export function isSignedBy(root: Root, role: Role, text: string | SignedFile): boolean {
  const file = open(text)
  const trusted = Object.hasOwn(root.roles, role) ? root.roles[role] : undefined
  if (file === null || trusted === undefined) return false
  const signed = formatCanonicalJson(file.signed)
  if (signed === null) return false
  // Counts keys, not ids: one key under two ids must not count twice.
  const signers = new Set<string>()
  for (const { keyid, sig } of file.signatures) {
    if (!trusted.keyids.includes(keyid) || !Object.hasOwn(root.keys, keyid)) continue
    const key = root.keys[keyid]?.keyval.public ?? ''
    if (isSignature(signed, key, sig)) signers.add(key)
  }
  return signers.size >= trusted.threshold
}

/**
 * Verifies an Ed25519 signature of a text; `key` and `signature` are hexadecimal. Throws for an
 * invalid key.
 */
export function isSignature(text: string, key: string, signature: string): boolean {
  const x = Buffer.from(key, 'hex').toString('base64url')
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return verify(null, Buffer.from(text), publicKey, Buffer.from(signature, 'hex'))
}

/** Lower-case hexadecimal. */
export function sha256(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex')
}

/** Null for any other text. */
export function readFile(text: string): SignedFile | null {
  const json = parseJson(text)
  if (!json.ok) return null
  const file = fileSchema.safeParse(json.value)
  return file.success ? file.data : null
}

function open(file: string | SignedFile): SignedFile | null {
  return typeof file === 'string' ? readFile(file) : file
}

/**
 * The canonical form that TUF signs: members sorted, no white space, only `\` and `"` escaped. Null
 * for a value without one, such as a fraction: a file that tuf-js cannot read must not count as
 * signed here either.
 */
export function formatCanonicalJson(value: unknown): string | null {
  try {
    return canonicalize(value)
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}
