/**
 * Bounds of the records that machines may store, in bytes as the store counts them; Infinity for
 * none. Without them one member fills the disk, or the whole account of the organization.
 */
export interface EvidenceLimits {
  readonly ofOrganization: number
  /** Most bytes of a device in a day of the server, UTC. */
  readonly ofDeviceADay: number
}

export const NO_LIMITS: EvidenceLimits = { ofOrganization: Infinity, ofDeviceADay: Infinity }

/** The part of an organization's bytes that one user has, or one device without a user. */
export const SHARE_OF_USER = 1 / 8

/** A limit that a batch would exceed; also the reason of the loss that takes its place. */
export const EXCEEDED_LIMITS = ['device_quota', 'organization_quota', 'user_quota'] as const
export type ExceededLimit = (typeof EXCEEDED_LIMITS)[number]
