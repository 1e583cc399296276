import { defineAggregate } from '../aggregate.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import type { GrantRecord } from '../../distribution-records.ts'
import type { Connection } from '../../sql/connection.ts'

export interface GrantReader {
  /** Lists grants that are not over at `at` (`Date.toISOString`), by time of issue. */
  listOutstanding(org: string, deviceId: string, at: string): Promise<GrantRecord[]>
}

export interface GrantWriter extends GrantReader {
  insert(grant: GrantRecord): Promise<void>
}

export const GRANTS = defineAggregate({
  tables: [{ name: 'break_glass_grants', key: ['id'] }],
  reader: createGrantReader,
  writer: createGrantWriter,
  events: auditGrants,
})

/** When it is begun the machine's report says, which is no change that anybody made here. */
function auditGrants(
  grants: GrantWriter,
  { record }: ChangeRecorder,
): Writes<GrantWriter, GrantReader> {
  return {
    async insert(grant) {
      await grants.insert(grant)
      const { org, over_at: _over, ...after } = grant
      const subject = { id: grant.id, name: null }
      await record({ scope: { org }, subject, kind: 'break_glass.issued', before: null, after })
    },
  }
}

function createGrantReader(connection: Connection): GrantReader {
  const listOutstanding = connection.prepare<GrantRecord>(
    `SELECT * FROM break_glass_grants WHERE org = ? AND device_id = ? AND over_at > ?
     ORDER BY issued_at, id`,
  )
  return {
    listOutstanding: (org, deviceId, at) => listOutstanding.all(org, deviceId, at),
  }
}

function createGrantWriter(connection: Connection): GrantWriter {
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
