import type { DevicePollReader, DevicePollWriter } from '../contract/credentials.ts'
import type { Connection } from './connection.ts'
import { createSelectIn } from './select-in.ts'

export function createDevicePollReader(connection: Connection): DevicePollReader {
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

export function createDevicePollWriter(connection: Connection): DevicePollWriter {
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
