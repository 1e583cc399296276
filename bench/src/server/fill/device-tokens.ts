import { randomBytes } from 'node:crypto'
import {
  createDeviceTokens,
  type DeviceTokens,
} from '../../../../server/src/identity/device/device-tokens.ts'

/** Longer than any run, so that tokens do not expire during a load. */
const LIFE_SECONDS = 7 * 24 * 60 * 60

/** Issues device tokens that a server accepts whose store has `key`. */
export function createLongTokens(key: Uint8Array): DeviceTokens {
  return createDeviceTokens({ key, lifeSeconds: LIFE_SECONDS, now: () => new Date() })
}

/** A random thumbprint. A poll needs no key. */
export function createThumbprint(): string {
  return randomBytes(32).toString('base64url')
}
