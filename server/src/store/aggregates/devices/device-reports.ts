import { defineAggregate } from '../aggregate.ts'
import type { DeviceReportRecord } from '../../distribution-records.ts'
import type { Connection } from '../../sql/connection.ts'
import { createInsertRows, type InsertedColumn } from '../../sql/insert-rows.ts'
import { createSelectIn } from '../../sql/select-in.ts'

export interface DeviceReportReader {
  /** The newest report of each of these devices that ever reported, by its id. */
  list(deviceIds: readonly string[]): Promise<Map<string, DeviceReportRecord>>
}

export interface DeviceReportWriter extends DeviceReportReader {
  /**
   * At most one report per device. Reports of unknown devices, and reports older than the stored
   * one, are left out; never raises the revision.
   */
  put(reports: readonly DeviceReportRecord[]): Promise<void>
}

export const DEVICE_REPORTS = defineAggregate({
  tables: [{ name: 'device_reports', key: ['device_id'] }],
  reader: createDeviceReportReader,
  writer: createDeviceReportWriter,
  // A report changes no decision of a user.
  events: null,
})

const COLUMNS: readonly (InsertedColumn & { readonly name: keyof DeviceReportRecord })[] = [
  { name: 'device_id', type: 'TEXT' },
  { name: 'reported_at', type: 'TEXT' },
  { name: 'revision', type: 'BIGINT' },
  { name: 'state', type: 'TEXT' },
  { name: 'error_code', type: 'TEXT' },
  { name: 'error_detail', type: 'TEXT' },
  { name: 'grant_id', type: 'TEXT' },
  { name: 'grant_begun_at', type: 'TEXT' },
  { name: 'agent_version', type: 'TEXT' },
  { name: 'proxy_enforcement', type: 'TEXT' },
  { name: 'policy_digest', type: 'TEXT' },
  { name: 'assurance', type: 'TEXT' },
]

function createDeviceReportReader(connection: Connection): DeviceReportReader {
  const list = createSelectIn<DeviceReportRecord>(
    connection,
    (ids) => `SELECT * FROM device_reports WHERE device_id IN (${ids})`,
  )
  return {
    async list(deviceIds) {
      const rows = await list([], deviceIds)
      return new Map(rows.map((row) => [row.device_id, row]))
    },
  }
}

function createDeviceReportWriter(connection: Connection): DeviceReportWriter {
  const others = COLUMNS.slice(1).map(({ name }) => `${name} = excluded.${name}`)
  const insert = createInsertRows(
    connection,
    {
      name: 'device_reports',
      effect: 'progress',
      // Or a device that is there no more would keep the others from being written.
      condition: 'EXISTS (SELECT 1 FROM devices WHERE devices.id = given.column1)',
      conflict: `ON CONFLICT (device_id) DO UPDATE SET ${others.join()}
        WHERE excluded.reported_at >= device_reports.reported_at`,
    },
    COLUMNS,
  )
  return {
    ...createDeviceReportReader(connection),
    put: (reports) => insert.run(reports.map((report) => COLUMNS.map(({ name }) => report[name]))),
  }
}
