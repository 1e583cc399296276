import {
  STATES_WITHOUT_POLICY,
  type BehindDevices,
  type BehindPage,
  type DeviceStanding,
  type StandingPage,
} from './device-search.ts'
import type { DeviceReportRecord } from '../../distribution-records.ts'
import type { Connection } from '../../sql/connection.ts'

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
  readonly is_unheard: number
}

/** Above every id, which is of letters, digits and hyphens. */
const BEYOND_ALL = '~'

const STANDING = `SELECT d.id, d.username, d.labels, r.reported_at, r.revision, r.state,
    r.error_code,
    CASE WHEN d.created_at < ? AND (p.seen_at IS NULL OR p.seen_at < ?)
      AND (r.reported_at IS NULL OR r.reported_at < ?) THEN 1 ELSE 0 END AS is_silent,
    CASE WHEN p.seen_at IS NULL AND r.reported_at IS NULL THEN 1 ELSE 0 END AS is_unheard
  FROM devices d
  LEFT JOIN device_reports r ON r.device_id = d.id
  LEFT JOIN device_polls p ON p.device_id = d.id`

/** Reads only the columns of a device that counting needs: counts read whole fleets. */
export function createListStandings(
  connection: Connection,
): (org: string, page: StandingPage) => Promise<DeviceStanding[]> {
  const list = connection.prepare<Row>(
    `${STANDING}
     WHERE d.org = ? AND d.id > ? AND d.revoked_at IS NULL
     ORDER BY d.id LIMIT ?`,
  )
  return async (org, { after, limit, silentSince }) => {
    const silent = [silentSince, silentSince, silentSince]
    return (await list.all(...silent, org, after, limit)).map(toStanding)
  }
}

/** Reads only the devices that are behind: SQLite passes over a row faster than it returns one. */
export function createListBehind(
  connection: Connection,
): (org: string, page: BehindPage) => Promise<BehindDevices> {
  const last = connection.prepare<Pick<Row, 'id'>>(
    `SELECT d.id FROM devices d WHERE d.org = ? AND d.id > ? AND d.revoked_at IS NULL
     ORDER BY d.id LIMIT 1 OFFSET ?`,
  )
  const countRest = connection.prepare<{ count: number }>(
    `SELECT CAST(count(*) AS INTEGER) AS count FROM devices d
     WHERE d.org = ? AND d.id > ? AND d.revoked_at IS NULL`,
  )
  const list = connection.prepare<Row>(
    `${STANDING}
     WHERE d.org = ? AND d.id > ? AND d.id <= ? AND d.revoked_at IS NULL
       AND (r.revision IS NULL OR r.revision < ?
         OR r.state IN (${STATES_WITHOUT_POLICY.map((state) => `'${state}'`).join()}))
     ORDER BY d.id`,
  )
  return async (org, { after, window, silentSince, revision }) => {
    const through = (await last.get(org, after, window - 1))?.id ?? null
    const silent = [silentSince, silentSince, silentSince]
    const rows = await list.all(...silent, org, after, through ?? BEYOND_ALL, revision)
    const count = through === null ? ((await countRest.get(org, after))?.count ?? 0) : window
    return { devices: rows.map(toStanding), count, through }
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
    isUnheard: row.is_unheard === 1,
  }
}
