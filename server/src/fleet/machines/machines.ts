import { effectiveDefault } from '@palisade/policy-core'
import type { Device } from '@palisade/protocol'
import type { DeviceRecord, DeviceReportRecord } from '../../store/distribution-records.ts'
import type { StoreReader } from '../../store/store.ts'

/** A device, with its newest report and last poll. */
export interface Machine {
  readonly device: DeviceRecord
  readonly seenAt: string | undefined
  readonly report: DeviceReportRecord | undefined
  /** Whether the settings allow requests that no rule matches. */
  readonly observes: boolean
}

/** The state of one device. */
export async function readMachine(reader: StoreReader, device: DeviceRecord): Promise<Machine> {
  const [machine] = await readMachines(reader, [device])
  return machine ?? { device, seenAt: undefined, report: undefined, observes: false }
}

/** The states of devices of one organization, in their order. */
export async function readMachines(
  reader: StoreReader,
  devices: readonly DeviceRecord[],
): Promise<Machine[]> {
  const ids = devices.map(({ id }) => id)
  const seen = await reader.devicePolls.list(ids)
  const reports = await reader.deviceReports.list(ids)
  const observing = await findObserving(reader, devices)
  return devices.map((device) => ({
    device,
    seenAt: seen.get(device.id),
    report: reports.get(device.id),
    observes: observing.has(device.id),
  }))
}

/** Ids of the devices whose user and organization observe, by the settings as they are now. */
async function findObserving(
  { organizations, teams }: StoreReader,
  devices: readonly DeviceRecord[],
): Promise<ReadonlySet<string>> {
  const org = devices[0]?.org
  if (org === undefined) return new Set()
  const chosen = (await organizations.find(org))?.default
  const ofTeams = await teams.defaults(org)
  // Nearly always.
  if (chosen !== 'observe' && ![...ofTeams.values()].includes('observe')) return new Set()
  const users = new Set(devices.flatMap(({ username }) => username ?? []))
  const teamsOf = await teams.listOfSome(org, [...users])
  const observing = devices.filter(({ username, revoked_at }) => {
    const own = username === null ? [] : (teamsOf.get(username) ?? [])
    const values = [chosen, ...own.map((team) => ofTeams.get(team))]
    return revoked_at === null && effectiveDefault(values) === 'observe'
  })
  return new Set(observing.map(({ id }) => id))
}

export function formatMachine({ device, seenAt, report, observes }: Machine): Device {
  const { id, name, username, labels, created_at, revoked_at } = device
  return {
    id,
    ...(name === null ? {} : { name }),
    user: username,
    labels: [...labels],
    created_at,
    ...(revoked_at === null ? {} : { revoked_at }),
    ...(seenAt === undefined ? {} : { last_seen_at: seenAt }),
    ...(observes ? { default: 'observe' } : {}),
    ...(report === undefined ? {} : formatReport(report)),
  }
}

function formatReport(report: DeviceReportRecord): Partial<Device> {
  const { reported_at, revision, state, agent_version, error_code: code, error_detail } = report
  const { grant_id, grant_begun_at: begun_at, proxy_enforcement: proxy, policy_digest } = report
  const { assurance } = report
  return {
    reported_at,
    ...(revision === null ? {} : { revision }),
    state,
    agent_version,
    ...(code === null ? {} : { last_error: { code, detail: error_detail ?? '' } }),
    ...(grant_id === null || begun_at === null ? {} : { break_glass: { grant_id, begun_at } }),
    ...(proxy === null ? {} : { enforcement: { proxy } }),
    ...(assurance === null ? {} : { assurance }),
    ...(policy_digest === null ? {} : { policy_digest }),
  }
}
