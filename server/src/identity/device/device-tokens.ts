import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { Store } from '../../store/store.ts'
import { ensureSecret } from '../../store/ensure-secret.ts'

/** Name of the key in the store. */
export const DEVICE_TOKEN_KEY = 'device_token_mac'
const PREFIX = 'pal_dat_'
const MAC_BYTES = 16

/** The MAC key of device tokens. All servers on one store share it. */
export async function loadDeviceTokenKey(
  store: Store,
  random: (bytes: number) => Uint8Array,
): Promise<Uint8Array> {
  return ensureSecret(store, DEVICE_TOKEN_KEY, random)
}

/** Claims of a device token. They are unverified until `isOf` returns true. */
export interface DeviceTokenClaims {
  readonly deviceId: string
  readonly expiresMs: number
  /** Verifies the MAC: whether this server issued the token for a device with that key. */
  isOf(thumbprint: string): boolean
}

/**
 * Short-lived access tokens of devices: id, expiry and a MAC over both and the thumbprint of the
 * device key, which plays the part of `cnf.jkt` (RFC 9449 §6.1). Tokens are not stored. They are
 * not JWTs because every poll of a fleet carries one: 74 bytes suffice.
 */
export interface DeviceTokens {
  readonly lifeSeconds: number
  issue(device: { readonly id: string; readonly thumbprint: string }): string
  /** Returns null for a malformed or expired token. */
  read(token: string): DeviceTokenClaims | null
}

export function createDeviceTokens(deps: {
  readonly key: Uint8Array
  readonly lifeSeconds: number
  readonly now: () => Date
}): DeviceTokens {
  const { lifeSeconds, now } = deps
  // A key object, because `createHmac` would convert bytes to one at each call. bench: server/poll
  const key = createSecretKey(deps.key)

  const macOf = (deviceId: string, expires: string, thumbprint: string): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([deviceId, expires, thumbprint]))
      .digest()
      .subarray(0, MAC_BYTES)
      .toString('base64url')

  return {
    lifeSeconds,

    issue({ id, thumbprint }) {
      const expires = (Math.floor(now().getTime() / 1000) + lifeSeconds).toString(36)
      return `${PREFIX}${id}.${expires}.${macOf(id, expires, thumbprint)}`
    },

    read(token) {
      const parts = /^pal_dat_([\w-]{1,64})\.([0-9a-z]{1,9})\.([\w-]{22})$/.exec(token)
      if (parts === null) return null
      const [, deviceId = '', expires = '', mac = ''] = parts
      const expiresMs = Number.parseInt(expires, 36) * 1000
      if (expiresMs <= now().getTime()) return null
      return {
        deviceId,
        expiresMs,
        // Compares the encoded MACs: base64url has several encodings of the same bytes.
        isOf: (thumbprint) => isSame(mac, macOf(deviceId, expires, thumbprint)),
      }
    },
  }
}

function isSame(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
