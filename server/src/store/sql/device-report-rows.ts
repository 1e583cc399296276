import type { DeviceReportReader, DeviceReportWriter } from '../contract/credentials.ts'
import type { DeviceReportRecord } from '../distribution-records.ts'
import type { Connection } from './connection.ts'
import { createInsertRows, type InsertedColumn } from './insert-rows.ts'
import { createSelectIn } from './select-in.ts'

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

export function createDeviceReportReader(connection: Connection): DeviceReportReader {
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

export function createDeviceReportWriter(connection: Connection): DeviceReportWriter {
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
