import type { DeviceKey } from '@palisade/protocol'
import { createPrivateKey, createPublicKey, generateKeyPairSync, hash } from 'node:crypto'

/** A new Ed25519 key. Its private part must stay on the machine that creates it. */
export function createDeviceKey(): DeviceKey {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  return { kty: 'OKP', crv: 'Ed25519', x, d }
}

/** Tells whether the private part belongs to the public one. */
export function isWholeKey(key: DeviceKey): boolean {
  try {
    const privateKey = createPrivateKey({ key: { ...key }, format: 'jwk' })
    return createPublicKey(privateKey).export({ format: 'jwk' }).x === key.x
  } catch {
    return false
  }
}

/** The name of a key: RFC 7638, SHA-256 in base64url. */
export function thumbprintOf({ kty, crv, x }: Pick<DeviceKey, 'kty' | 'crv' | 'x'>): string {
  return hash('sha256', JSON.stringify({ crv, kty, x }), 'base64url')
}
