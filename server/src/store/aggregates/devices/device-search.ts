import type { AgentState, AssuranceFilter } from '@palisade/protocol'
import type { DeviceRecord, DeviceReportRecord } from '../../distribution-records.ts'

/** Which devices are found; null or absent lets every device through. */
export interface DeviceFilter {
  readonly user?: string | null
  readonly label?: string | null
  /** The beginning of the name. */
  readonly name?: string | null
  /** The state in the newest report, as is `revision`. */
  readonly state?: AgentState | null
  readonly revision?: number | null
  readonly assurance?: AssuranceFilter | null
  /** Not revoked, and neither enrolled nor heard of since then (`Date.toISOString`). */
  readonly silentSince?: string | null
}

/** Devices that are looked at: the first `window` of those with an id above `after`. */
export interface DevicePage {
  readonly after: string
  readonly window: number
  /** Most devices that are answered. */
  readonly limit: number
}

export interface FoundDevices<Device = DeviceRecord> {
  /** Devices by ascending id; revoked ones too. */
  readonly devices: readonly Device[]
  /** The id of the last device of the window; null when there were fewer than `window`. */
  readonly through: string | null
}

/** How a device stands that was not revoked. */
export interface DeviceStanding extends Pick<DeviceRecord, 'id' | 'username' | 'labels'> {
  /** Null before its first one. */
  readonly report: Pick<
    DeviceReportRecord,
    'reported_at' | 'revision' | 'state' | 'error_code'
  > | null
  /** Neither enrolled nor heard of since the time that was asked about. */
  readonly isSilent: boolean
  /** It was enrolled, and neither polled nor reported since. */
  readonly isUnheard: boolean
}

/** The first `limit` devices with an id above `after`; times as `Date.toISOString`. */
export interface StandingPage {
  readonly after: string
  readonly limit: number
  readonly silentSince: string
}

/** Devices that may not have reached a revision, of the first `window` with an id above `after`. */
export interface BehindPage {
  readonly after: string
  readonly window: number
  readonly silentSince: string
  readonly revision: number
}

export interface BehindDevices {
  /**
   * Devices by ascending id: all whose report is not of the revision, or of a later one, in a
   * usable state.
   */
  readonly devices: readonly DeviceStanding[]
  /** How many there are in the window, those that have reached the revision with them. */
  readonly count: number
  /** The id of the last device of the window; null when there were fewer than `window`. */
  readonly through: string | null
}

/** States in which no policy is in force, regardless of the reported revision. */
export const STATES_WITHOUT_POLICY = [
  'never_loaded',
  'corrupt',
  'unsupported',
] as const satisfies readonly AgentState[]
