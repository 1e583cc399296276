import { defineAggregate } from '../aggregate.ts'
import type { Connection } from '../../sql/connection.ts'
import { createSelectIn } from '../../sql/select-in.ts'

export interface DevicePollReader {
  /** When each of these devices that ever polled was last recorded, by its id. */
  list(deviceIds: readonly string[]): Promise<Map<string, string>>
}

export interface DevicePollWriter extends DevicePollReader {
  /** No change when a later poll (`Date.toISOString`) is recorded; never raises the revision. */
  record(deviceId: string, seenAt: string): Promise<void>
}

export const DEVICE_POLLS = defineAggregate({
  tables: [{ name: 'device_polls', key: ['device_id'] }],
  reader: createDevicePollReader,
  writer: createDevicePollWriter,
  // A poll changes no decision of a user.
  events: null,
})

function createDevicePollReader(connection: Connection): DevicePollReader {
  const list = createSelectIn<{ device_id: string; seen_at: string }>(
    connection,
    (ids) => `SELECT device_id, seen_at FROM device_polls WHERE device_id IN (${ids})`,
  )
  return {
    async list(deviceIds) {
      const rows = await list([], deviceIds)
      return new Map(rows.map(({ device_id, seen_at }) => [device_id, seen_at]))
    },
  }
}

function createDevicePollWriter(connection: Connection): DevicePollWriter {
  const record = connection.prepare(
    `INSERT INTO device_polls (device_id, seen_at) VALUES (?, ?)
     ON CONFLICT (device_id) DO UPDATE SET seen_at = excluded.seen_at
     WHERE excluded.seen_at > device_polls.seen_at`,
    'progress',
  )
  return {
    ...createDevicePollReader(connection),
    async record(deviceId, seenAt) {
      await record.run(deviceId, seenAt)
    },
  }
}
