import type { DevicePollReader, DevicePollWriter } from '../contract/credentials.ts'
import type { Connection } from './connection.ts'

export function createDevicePollReader(connection: Connection): DevicePollReader {
  const list = connection.prepare<{ device_id: string; seen_at: string }>(
    `SELECT p.device_id, p.seen_at FROM device_polls p JOIN devices d ON d.id = p.device_id
     WHERE d.org = ? AND d.id >= ? AND d.id <= ?`,
  )
  return {
    async list(org, { first, last }) {
      const rows = await list.all(org, first, last)
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
