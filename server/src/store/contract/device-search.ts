import type { AgentState } from '@palisade/protocol'
import type { DeviceRecord, DeviceReportRecord } from '../distribution-records.ts'

/** Which devices are found; null or absent lets every device through. */
export interface DeviceFilter {
  readonly user?: string | null
  readonly label?: string | null
  /** Of the newest report, as is `revision`. */
  readonly state?: AgentState | null
  readonly revision?: number | null
  /** Not revoked, and neither enrolled nor heard of since then (`Date.toISOString`). */
  readonly silentSince?: string | null
}

/** Devices that are looked at: the first `window` of those with an id above `after`. */
export interface DevicePage {
  readonly after: string
  readonly window: number
  /** Of the devices that are answered. */
  readonly limit: number
}

export interface FoundDevices<Device = DeviceRecord> {
  /** By ascending id; revoked ones too. */
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
}

/** The first `limit` devices with an id above `after`; times as `Date.toISOString`. */
export interface StandingPage {
  readonly after: string
  readonly limit: number
  readonly silentSince: string
}
