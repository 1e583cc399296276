import type { TrustedMetadataStore } from 'tuf-js/dist/store.js'
import { formatCanonicalJson } from './canonical-json.ts'
import type { IsSignature } from './signature.ts'

type Keys = TrustedMetadataStore['root']['signed']['keys']
type Key = Keys[string]

const ED25519 = 'ed25519'
const PUBLIC_KEY = /^[0-9a-f]{64}$/
/** Keys made here: those of a root that is begun with again are not wrapped once more each time. */
const REMEMBERING = new WeakSet<Key>()

/**
 * Puts keys in the place of those of tuf-js that ask `isSignature`, which our own lines ask as well, about
 * the text that tuf-js has read. Another kind of key stays as it is, and one that asks already.
 */
export function rememberSignatures(keys: Keys, isSignature: IsSignature): void {
  for (const [id, key] of Object.entries(keys)) {
    const publicKey = key.keyVal['public'] ?? ''
    if (REMEMBERING.has(key)) continue
    if (key.keyType === ED25519 && key.scheme === ED25519 && PUBLIC_KEY.test(publicKey))
      keys[id] = withMemory(key, publicKey, isSignature)
  }
}

function withMemory(key: Key, publicKey: string, isSignature: IsSignature): Key {
  const { keyID, keyType, scheme, keyVal, unrecognizedFields = {} } = key
  const remembering: Key = {
    keyID,
    keyType,
    scheme,
    keyVal,
    unrecognizedFields,
    verifySignature({ signed, signatures }) {
      const text = formatCanonicalJson(signed.toJSON())
      const sig = Object.hasOwn(signatures, keyID) ? signatures[keyID]?.sig : undefined
      if (text === null || sig === undefined || !isSignature(text, publicKey, sig))
        throw new Error('the signature does not hold')
    },
    equals: (other) => key.equals(other),
    toJSON: () => key.toJSON(),
  }
  REMEMBERING.add(remembering)
  return remembering
}
