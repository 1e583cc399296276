import type { GrantReader, GrantWriter } from '../contract/credentials.ts'
import type { GrantRecord } from '../distribution-records.ts'
import type { Connection } from './connection.ts'

export function createGrantReader(connection: Connection): GrantReader {
  const listOutstanding = connection.prepare<GrantRecord>(
    `SELECT * FROM break_glass_grants WHERE org = ? AND device_id = ? AND over_at > ?
     ORDER BY issued_at, id`,
  )
  return {
    listOutstanding: (org, deviceId, at) => listOutstanding.all(org, deviceId, at),
  }
}

export function createGrantWriter(connection: Connection): GrantWriter {
  const insert = connection.prepare(`INSERT INTO break_glass_grants
       (id, org, device_id, reason, issued_by, issued_at, use_by, duration_seconds, over_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  return {
    ...createGrantReader(connection),
    async insert(grant) {
      await insert.run(
        grant.id,
        grant.org,
        grant.device_id,
        grant.reason,
        grant.issued_by,
        grant.issued_at,
        grant.use_by,
        grant.duration_seconds,
        grant.over_at,
      )
    },
  }
}
