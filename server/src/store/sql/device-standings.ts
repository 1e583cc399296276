import type { DeviceStanding, StandingPage } from '../contract/device-search.ts'
import type { DeviceReportRecord } from '../distribution-records.ts'
import type { Connection } from './connection.ts'

type Report = Pick<DeviceReportRecord, 'reported_at' | 'revision' | 'state' | 'error_code'>

interface Row {
  readonly id: string
  readonly username: string | null
  readonly labels: string
  /** Null, as the state, for a device that never reported. */
  readonly reported_at: Report['reported_at'] | null
  readonly revision: Report['revision']
  readonly state: Report['state'] | null
  readonly error_code: Report['error_code']
  readonly is_silent: number
}

/** Reads no more of a device than what counting needs: counts read whole fleets. */
export function createListStandings(
  connection: Connection,
): (org: string, page: StandingPage) => Promise<DeviceStanding[]> {
  const list = connection.prepare<Row>(
    `SELECT d.id, d.username, d.labels, r.reported_at, r.revision, r.state, r.error_code,
       CASE WHEN d.created_at < ? AND (p.seen_at IS NULL OR p.seen_at < ?)
         AND (r.reported_at IS NULL OR r.reported_at < ?) THEN 1 ELSE 0 END AS is_silent
     FROM devices d
     LEFT JOIN device_reports r ON r.device_id = d.id
     LEFT JOIN device_polls p ON p.device_id = d.id
     WHERE d.org = ? AND d.id > ? AND d.revoked_at IS NULL
     ORDER BY d.id LIMIT ?`,
  )
  return async (org, { after, limit, silentSince }) => {
    const silent = [silentSince, silentSince, silentSince]
    return (await list.all(...silent, org, after, limit)).map(toStanding)
  }
}

function toStanding(row: Row): DeviceStanding {
  const { id, username, labels, reported_at, revision, state, error_code } = row
  return {
    id,
    username,
    labels: JSON.parse(labels) as DeviceStanding['labels'],
    report:
      reported_at === null || state === null ? null : { reported_at, revision, state, error_code },
    isSilent: row.is_silent === 1,
  }
}
