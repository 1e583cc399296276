import { createPublicKey, verify, type KeyObject } from 'node:crypto'

/** Whether the private part of an Ed25519 key, whose public one is `key`, has signed a text; both in hexadecimal. */
export type IsSignature = (text: string, key: string, signature: string) => boolean

/** A release has four, and the one before it as many. */
const MAX_BELIEVED = 16
/** Of a root; a later one may have others. */
const MAX_KEYS = 16
/** Of 64 bytes. Whatever comes after them would be kept, too. */
const SIGNATURE_LENGTH = 128

/** Asks anew each time. Throws for a key that is none. */
export const isSignature: IsSignature = (text, key, signature) =>
  isSignedWith(readKey(key), text, signature)

/**
 * One that asks once: what was signed is believed again without it, if text, key and signature are the very
 * same, and nothing else is. What is no signature is not remembered.
 */
export function createSignatureMemory(): IsSignature {
  const keys = new Map<string, KeyObject>()
  const believed = new Map<string, string>()

  function findKey(key: string): KeyObject {
    const known = keys.get(key) ?? readKey(key)
    keepLast(keys, MAX_KEYS, key, known)
    return known
  }

  return (text, key, signature) => {
    const made = `${key} ${signature}`
    if (believed.get(made) !== text && !isSignedWith(findKey(key), text, signature)) return false
    if (signature.length === SIGNATURE_LENGTH) keepLast(believed, MAX_BELIEVED, made, text)
    return true
  }
}

function isSignedWith(key: KeyObject, text: string, signature: string): boolean {
  return verify(null, Buffer.from(text), key, Buffer.from(signature, 'hex'))
}

/** As a JWK: to read one in DER costs as much as to verify. */
function readKey(key: string): KeyObject {
  const x = Buffer.from(key, 'hex').toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}

/** The one that was asked for longest ago goes. */
function keepLast<T>(map: Map<string, T>, most: number, name: string, value: T): void {
  map.delete(name)
  map.set(name, value)
  const [oldest] = map.keys()
  if (map.size > most && oldest !== undefined) map.delete(oldest)
}
