import type { DeviceKey } from '@palisade/protocol'
import { calculateJwkThumbprint } from 'jose'
import { generateKeyPairSync } from 'node:crypto'

/** The key of a machine that is enrolled by a command on the server itself, and its thumbprint. */
export async function createDeviceKey(): Promise<{
  readonly key: DeviceKey
  readonly thumbprint: string
}> {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  const key = { kty: 'OKP', crv: 'Ed25519', x, d } as const
  return { key, thumbprint: await calculateJwkThumbprint(key) }
}
