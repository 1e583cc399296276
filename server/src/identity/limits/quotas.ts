import { limitExceeded } from '../../platform/api-error.ts'
import type { StoreReader } from '../../store/store.ts'

/**
 * How much there may be at once. Tokens count until they are revoked or 30 days past expiry,
 * enrolment tokens until they are revoked or expire, devices until they are revoked.
 */
export interface Quotas {
  readonly tokensOfUser: number
  readonly tokensOfOrg: number
  readonly teams: number
  /** Of one member. Each change of a member keeps all of them in the history. */
  readonly teamsOfUser: number
  readonly members: number
  readonly devices: number
  readonly devicesOfUser: number
  /** Those that a member enrols for oneself without `organization:admin`. */
  readonly ownDevices: number
  readonly enrolmentTokens: number
  readonly webhooks: number
}

/** Throws 403 when `count` things may not become one more; in the transaction that adds it. */
export function requireRoom(count: number, most: number, what: string): void {
  if (count >= most) throw limitExceeded(`${what}; there are ${most}, which is the most`)
}

/**
 * Throws 403 when the organization, or the user, may not have one more device. Machines count in
 * rollouts, so a member who enrols them alone (`isOwn`) has fewer than an administrator gives.
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
  const remedy = 'revoke devices that are gone before you enrol others'
  if (user !== null) {
    const count = await devices.countLiveOfUser(org, user)
    requireRoom(count, quotas.devicesOfUser, remedy)
    if (isOwn) requireRoom(count, quotas.ownDevices, `${remedy}, or ask an owner to enrol this one`)
  }
  requireRoom(await devices.countLive(org), quotas.devices, remedy)
}
