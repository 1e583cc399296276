import { limitExceeded } from '../../platform/api-error.ts'
import type { StoreReader } from '../../store/store.ts'

/**
 * Maximum numbers of resources. Access tokens count until they are revoked or 30 days past expiry,
 * enrolment tokens until they are revoked or expired, devices until they are revoked.
 */
export interface Quotas {
  readonly tokensOfUser: number
  readonly tokensOfOrg: number
  readonly teams: number
  /** Teams of one member. The event of each change of a member contains all of them. */
  readonly teamsOfUser: number
  readonly members: number
  readonly devices: number
  readonly devicesOfUser: number
  /** Devices that a member without `organization:admin` enrols for themselves. */
  readonly ownDevices: number
  readonly enrolmentTokens: number
  readonly webhooks: number
}

/** Throws 403 if `max` is reached. Call this in the transaction that adds one more. */
export function requireRoom(count: number, max: number, remedy: string): void {
  if (count >= max) throw limitExceeded(`${remedy}; the limit of ${max} is reached`)
}

/**
 * Throws 403 if the organization or the user has reached a limit of devices. Devices count in
 * rollouts, so a member who enrols their own (`isOwn`) has a lower limit than one for whom an
 * administrator enrols.
 */
export async function requireRoomForDevice(
  { devices }: StoreReader,
  quotas: Quotas,
  {
    org,
    user,
    isOwn,
  }: { readonly org: string; readonly user: string | null; readonly isOwn: boolean },
): Promise<void> {
  const remedy = 'revoke devices that are no longer used before you enrol others'
  if (user !== null) {
    const count = await devices.countLiveOfUser(org, user)
    requireRoom(count, quotas.devicesOfUser, remedy)
    if (isOwn) requireRoom(count, quotas.ownDevices, `${remedy}, or ask an owner to enrol this one`)
  }
  requireRoom(await devices.countLive(org), quotas.devices, remedy)
}
