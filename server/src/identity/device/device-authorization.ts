import { unauthenticatedDevice } from '../../platform/api-error.ts'

const DEVICE = /^dpop +([A-Za-z0-9._~+/-]+=*)$/i

/** The token of a `DPoP` header (RFC 9449 §7.1); null when there is none, or anything else. */
export function findDeviceToken(authorizationHeader: string | undefined): string | null {
  return DEVICE.exec(authorizationHeader ?? '')?.[1] ?? null
}

/** The same, or throws 401. */
export function parseDeviceToken(authorizationHeader: string | undefined): string {
  const token = findDeviceToken(authorizationHeader)
  if (token === null) throw unauthenticatedDevice('send `Authorization: DPoP` with a device token')
  return token
}
