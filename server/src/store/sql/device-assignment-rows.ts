import type { DeviceAssignmentReader, DeviceAssignmentWriter } from '../contract/credentials.ts'
import type { DeviceAssignmentRecord } from '../distribution-records.ts'
import type { Connection } from './connection.ts'
import { createInsertRows } from './insert-rows.ts'
import { createSelectIn } from './select-in.ts'

export function createDeviceAssignmentReader(connection: Connection): DeviceAssignmentReader {
  const list = createSelectIn<DeviceAssignmentRecord>(
    connection,
    (ids) => `SELECT * FROM device_assignments WHERE device_id IN (${ids})`,
  )
  return {
    async list(deviceIds) {
      const rows = await list([], deviceIds)
      return new Map(rows.map((row) => [row.device_id, row]))
    },
  }
}

export function createDeviceAssignmentWriter(connection: Connection): DeviceAssignmentWriter {
  const insert = createInsertRows(
    connection,
    {
      name: 'device_assignments',
      effect: 'progress',
      conflict: `ON CONFLICT (device_id) DO UPDATE
        SET view_id = excluded.view_id, version = excluded.version`,
    },
    [
      { name: 'device_id', type: 'TEXT' },
      { name: 'view_id', type: 'TEXT' },
      { name: 'version', type: 'BIGINT' },
    ],
  )
  return {
    ...createDeviceAssignmentReader(connection),
    put: (rows) =>
      insert.run(rows.map(({ device_id, view_id, version }) => [device_id, view_id, version])),
  }
}
