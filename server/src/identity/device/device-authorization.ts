import { unauthenticatedDevice } from '../../platform/api-error.ts'

const DEVICE = /^dpop +([A-Za-z0-9._~+/-]+=*)$/i

/** The token of the `DPoP` authorization scheme (RFC 9449 §7.1); null for any other header. */
export function findDeviceToken(authorizationHeader: string | undefined): string | null {
  return DEVICE.exec(authorizationHeader ?? '')?.[1] ?? null
}

/** Like `findDeviceToken`, but throws 401 instead of returning null. */
export function parseDeviceToken(authorizationHeader: string | undefined): string {
  const token = findDeviceToken(authorizationHeader)
  if (token === null) throw unauthenticatedDevice('send `Authorization: DPoP` with a device token')
  return token
}
