import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from 'node:crypto'
import { promisify } from 'node:util'

/** OWASP's second recommendation for Argon2id: 19 MiB, two passes. */
const MEMORY_KIB = 19_456
const PASSES = 2
const LANES = 1
const SALT_BYTES = 16
const TAG_BYTES = 32

const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

interface PasswordHash {
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
  readonly nonce: Buffer
  readonly tag: Buffer
}

/** A PHC string (`$argon2id$v=19$m=…,t=…,p=…$salt$tag`) for the store. */
export async function hashPassword(
  password: string,
  random: (bytes: number) => Uint8Array,
): Promise<string> {
  const nonce = Buffer.from(random(SALT_BYTES))
  const tag = await derive(password, { ...ownCost(), nonce }, TAG_BYTES)
  return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${encode(nonce)}$${encode(tag)}`
}

/**
 * Whether the password matches the stored hash. Pass null for a user who does not exist or has no
 * password: the same work is done, so that timing does not reveal which users exist.
 */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const hash = stored === null ? null : parsePhc(stored)
  if (hash === null) {
    await derive(password, { ...ownCost(), nonce: randomBytes(SALT_BYTES) }, TAG_BYTES)
    return false
  }
  const tag = await derive(password, hash, hash.tag.length)
  return timingSafeEqual(tag, hash.tag)
}

function ownCost() {
  return { memory: MEMORY_KIB, passes: PASSES, parallelism: LANES }
}

/** The cost is read from the hash, so that hashes of a lower cost stay valid when it is raised. */
function parsePhc(text: string): PasswordHash | null {
  const match = PHC.exec(text)
  if (match === null) return null
  const [, memory = '', passes = '', parallelism = '', salt = '', tag = ''] = match
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    nonce: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

function derive(
  password: string,
  hash: Omit<PasswordHash, 'tag'>,
  tagLength: number,
): Promise<Buffer> {
  const { memory, passes, parallelism, nonce } = hash
  const parameters: Argon2Parameters = {
    message: password,
    nonce,
    memory,
    passes,
    parallelism,
    tagLength,
  }
  return promisify(argon2)('argon2id', parameters)
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}
