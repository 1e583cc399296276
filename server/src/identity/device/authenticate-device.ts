import { permissionDenied, unauthenticatedDevice, type ApiError } from '../../platform/api-error.ts'
import type { DeviceRecord } from '../../store/distribution-records.ts'
import type { OrganizationRecord } from '../../store/records.ts'
import type { StoreReader } from '../../store/store.ts'
import type { DeviceTokens } from './device-tokens.ts'

/** A device that may fetch, with its organization from the same snapshot. */
export interface AdmittedDevice {
  readonly device: DeviceRecord
  readonly organization: OrganizationRecord
}

/**
 * The device of a device token, and the token's expiry. Throws 401 for an invalid or expired token,
 * a revoked device, or a device whose user has left the organization; 403 for an organization that
 * is not entitled to governance.
 */
export async function authenticateDevice(
  reader: StoreReader,
  tokens: Pick<DeviceTokens, 'read'>,
  token: string,
): Promise<AdmittedDevice & { readonly expiresMs: number }> {
  const claims = tokens.read(token)
  const device = claims === null ? null : await reader.devices.findById(claims.deviceId)
  const isBound = device !== null && claims?.isOf(device.thumbprint) === true
  const admitted = await findLiveDevice(reader, isBound ? device : null, refusal)
  return { ...admitted, expiresMs: claims?.expiresMs ?? 0 }
}

/** The device, if it may fetch. Otherwise throws `refuse()`, or 403 as above. */
export async function findLiveDevice(
  reader: StoreReader,
  device: DeviceRecord | null,
  refuse: () => ApiError,
): Promise<AdmittedDevice> {
  if (device === null || device.revoked_at !== null) throw refuse()
  const organization = await reader.organizations.find(device.org)
  if (organization === null) throw refuse()
  if (
    device.username !== null &&
    (await reader.memberships.find(device.org, device.username)) === null
  )
    throw refuse()
  if (!organization.entitled)
    throw permissionDenied(`organization \`${device.org}\` is not entitled to use governance`)
  return { device, organization }
}

function refusal(): ApiError {
  return unauthenticatedDevice('the device token is invalid or expired, or its device is revoked')
}
