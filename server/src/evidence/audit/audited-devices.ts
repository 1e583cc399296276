import type { AuditEvent } from '@palisade/protocol'
import type { Store } from '../../store/store.ts'
import type { StoredEvidence } from '../store/evidence-store.ts'
import { formatAuditEvent, type AuditedDevice } from './format-audit-event.ts'

/** Formats rows as events, with their devices as the server knows them now. */
export async function describeRows(
  store: Pick<Store, 'read'>,
  rows: readonly StoredEvidence[],
): Promise<AuditEvent[]> {
  const devices = await readDevices(store, new Set(rows.map(({ device_id }) => device_id)))
  return rows.map((row) => formatAuditEvent(row, devices.get(row.device_id) ?? UNKNOWN))
}

/** A device whose row was removed. */
const UNKNOWN: AuditedDevice = { name: null, assurance: null }

async function readDevices(
  store: Pick<Store, 'read'>,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, AuditedDevice>> {
  if (ids.size === 0) return new Map()
  return store.read(async (reader) => {
    const reports = await reader.deviceReports.list([...ids])
    const devices = new Map<string, AuditedDevice>()
    for (const id of ids) {
      const device = await reader.devices.findById(id)
      devices.set(id, { name: device?.name ?? null, assurance: reports.get(id)?.assurance ?? null })
    }
    return devices
  })
}
