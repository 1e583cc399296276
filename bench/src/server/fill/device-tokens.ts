import { randomBytes } from 'node:crypto'
import {
  createDeviceTokens,
  type DeviceTokens,
} from '../../../../server/src/identity/device/device-tokens.ts'

/** Longer than any run, so that no load meets a token that is over. */
const LIFE_SECONDS = 7 * 24 * 60 * 60

/** Makes device tokens that a server takes whose store has `key`. */
export function createLongTokens(key: Uint8Array): DeviceTokens {
  return createDeviceTokens({ key, lifeSeconds: LIFE_SECONDS, now: () => new Date() })
}

/** In place of a thumbprint: no key is needed to poll. */
export function createThumbprint(): string {
  return randomBytes(32).toString('base64url')
}
