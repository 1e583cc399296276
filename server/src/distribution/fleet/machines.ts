import type { Device } from '@palisade/protocol'
import type { DeviceRecord, DeviceReportRecord } from '../../store/distribution-records.ts'
import type { StoreReader } from '../../store/store.ts'

/** A device, and what is known of how it fares. */
export interface Machine {
  readonly device: DeviceRecord
  readonly seenAt: string | undefined
  readonly report: DeviceReportRecord | undefined
}

/** Those with an id above `after`, by ascending id; revoked ones too. */
export async function readMachines(
  reader: StoreReader,
  org: string,
  page: { readonly after: string; readonly limit: number },
): Promise<Machine[]> {
  return describe(reader, org, await reader.devices.list(org, page))
}

/** What is known of one device. */
export async function readMachine(reader: StoreReader, device: DeviceRecord): Promise<Machine> {
  const [machine] = await describe(reader, device.org, [device])
  return machine ?? { device, seenAt: undefined, report: undefined }
}

async function describe(
  reader: StoreReader,
  org: string,
  devices: readonly DeviceRecord[],
): Promise<Machine[]> {
  const span = { first: devices[0]?.id ?? '', last: devices.at(-1)?.id ?? '' }
  const seen = await reader.devicePolls.list(org, span)
  const reports = await reader.deviceReports.list(org, span)
  return devices.map((device) => ({
    device,
    seenAt: seen.get(device.id),
    report: reports.get(device.id),
  }))
}

/** When it was last heard of, in milliseconds since 1970; it was there when it was enrolled. */
export function lastSignOfLife({ device, seenAt, report }: Machine): number {
  const signs = [device.created_at, seenAt, report?.reported_at].filter((at) => at !== undefined)
  return Math.max(...signs.map((at) => Date.parse(at)))
}

export function formatMachine({ device, seenAt, report }: Machine): Device {
  const { id, username, labels, created_at, revoked_at } = device
  return {
    id,
    user: username,
    labels: [...labels],
    created_at,
    ...(revoked_at === null ? {} : { revoked_at }),
    ...(seenAt === undefined ? {} : { last_seen_at: seenAt }),
    ...(report === undefined ? {} : formatReport(report)),
  }
}

function formatReport(report: DeviceReportRecord): Partial<Device> {
  const { reported_at, revision, state, agent_version, error_code: code, error_detail } = report
  const { grant_id, grant_begun_at: begun_at } = report
  return {
    reported_at,
    ...(revision === null ? {} : { revision }),
    state,
    agent_version,
    ...(code === null ? {} : { last_error: { code, detail: error_detail ?? '' } }),
    ...(grant_id === null || begun_at === null ? {} : { break_glass: { grant_id, begun_at } }),
  }
}
