import { parseBearer } from '../accounts/bearer.ts'
import { permissionDenied, unauthenticated } from '../http/api-error.ts'
import type { DeviceRecord, OrganizationRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'
import { hashSecretToken, kindOfSecretToken } from '../tokens/secret-token.ts'

/** A device that may fetch, with its organization as of the same snapshot. */
export interface AdmittedDevice {
  readonly device: DeviceRecord
  readonly organization: OrganizationRecord
}

/**
 * The device whose token the `Authorization` header carries. Throws 401 when the token is none of
 * ours, was revoked, or belongs to a user who has left the organization; 403 when the organization
 * may not use governance.
 */
export async function authenticateDevice(
  reader: StoreReader,
  authorizationHeader: string | undefined,
): Promise<AdmittedDevice> {
  const token = parseBearer(authorizationHeader)
  const device =
    kindOfSecretToken(token) === 'device'
      ? await reader.devices.findByTokenHash(hashSecretToken(token))
      : null
  if (device === null || device.revoked_at !== null) throw refusal()
  const organization = await reader.organizations.find(device.org)
  if (organization === null) throw refusal()
  if (
    device.username !== null &&
    (await reader.memberships.find(device.org, device.username)) === null
  )
    throw refusal()
  if (!organization.entitled)
    throw permissionDenied(`organization \`${device.org}\` is not entitled to use governance`)
  return { device, organization }
}

function refusal() {
  return unauthenticated('the device token is invalid or has been revoked')
}
