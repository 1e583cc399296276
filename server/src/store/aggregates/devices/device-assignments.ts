import { defineAggregate } from '../aggregate.ts'
import type { DeviceAssignmentRecord } from '../../distribution-records.ts'
import type { Connection } from '../../sql/connection.ts'
import { createInsertRows } from '../../sql/insert-rows.ts'
import { createSelectIn } from '../../sql/select-in.ts'

export interface DeviceAssignmentReader {
  /** The newest assignment of each of these devices that ever had one, by its id. */
  list(deviceIds: readonly string[]): Promise<Map<string, DeviceAssignmentRecord>>
}

export interface DeviceAssignmentWriter extends DeviceAssignmentReader {
  /** Replaces the assignment of each device; at most one per device. Never raises the revision. */
  put(assignments: readonly DeviceAssignmentRecord[]): Promise<void>
}

export const DEVICE_ASSIGNMENTS = defineAggregate({
  tables: [{ name: 'device_assignments', key: ['device_id'] }],
  reader: createDeviceAssignmentReader,
  writer: createDeviceAssignmentWriter,
  // An assignment follows from changes that are in the history.
  events: null,
})

function createDeviceAssignmentReader(connection: Connection): DeviceAssignmentReader {
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

function createDeviceAssignmentWriter(connection: Connection): DeviceAssignmentWriter {
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
