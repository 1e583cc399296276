import type { AccessState } from '@palisade/protocol'
import type { AccessRequestRecord, GrantHolder } from '../../access-records.ts'
import type { AccessRequestReader, AccessRequestWriter } from './access-request-contract.ts'
import type { Connection, Value } from '../../sql/connection.ts'

const LASTING = [
  'id',
  'org',
  'username',
  'device_id',
  'action',
  'resources',
  'duration_seconds',
  'once',
  'reason',
  'created_at',
] as const
/** Columns that decisions change. */
const CHANGING = ['state', 'due_at', 'decided_at', 'decided_by', 'answer', 'granted'] as const
const COLUMNS = [...LASTING, ...CHANGING] as const
const SELECT = `SELECT ${COLUMNS.join(', ')} FROM access_requests`

interface Row extends Omit<AccessRequestRecord, 'grant' | 'once' | 'resources'> {
  readonly resources: string
  readonly once: number
  readonly granted: string | null
}

/** Comes after every id. */
const BEYOND_ALL = '~'

export function createAccessRequestReader(connection: Connection): AccessRequestReader {
  const find = connection.prepare<Row>(`${SELECT} WHERE org = ? AND id = ?`)
  const preparePage = (condition: string) =>
    connection.prepare<Row>(`${SELECT} WHERE org = ? AND id < ?${condition}
      ORDER BY id DESC LIMIT ?`)
  const pages = {
    all: preparePage(''),
    ofState: preparePage(' AND state = ?'),
    ofUser: preparePage(' AND username = ?'),
    ofBoth: preparePage(' AND username = ? AND state = ?'),
  }
  // Few teams, so those that an approver sees are found by user.
  const prepareSeen = (condition: string) =>
    connection.prepare<Row>(
      `${SELECT} WHERE org = ? AND id < ?${condition} AND (username = ? OR username IN (
         SELECT m.username FROM team_approvers a
         JOIN team_members m ON m.org = a.org AND m.team_id = a.team_id
         WHERE a.org = ? AND a.username = ?))
       ORDER BY id DESC LIMIT ?`,
    )
  const seen = {
    all: prepareSeen(''),
    ofState: prepareSeen(' AND state = ?'),
    ofUser: prepareSeen(' AND username = ?'),
    ofBoth: prepareSeen(' AND username = ? AND state = ?'),
  }
  const listOpen = connection.prepare<Row>(
    `${SELECT} WHERE org = ? AND username = ? AND due_at IS NOT NULL ORDER BY id`,
  )
  const listGrants = connection.prepare<Row>(
    `${SELECT} WHERE org = ? AND username = ? AND due_at IS NOT NULL AND due_at > ?
       AND state = 'approved' ORDER BY id`,
  )
  const listDue = connection.prepare<Row>(
    `${SELECT} WHERE due_at IS NOT NULL AND due_at <= ? ORDER BY due_at LIMIT ?`,
  )
  const grantChanges = connection.prepare<{ newest: number | null }>(
    'SELECT max(grant_change) AS newest FROM access_requests',
  )
  const holdersSince = connection.prepare<GrantHolder>(
    'SELECT org, username FROM access_requests WHERE grant_change > ?',
  )
  const approvers = connection.prepare<{ username: string }>(
    `SELECT username FROM team_approvers WHERE org = ? AND team_id = ? AND username > ?
     ORDER BY username LIMIT ?`,
  )
  const isApproverOf = connection.prepare<{ team_id: string }>(
    `SELECT a.team_id FROM team_approvers a
     JOIN team_members m ON m.org = a.org AND m.team_id = a.team_id
     WHERE a.org = ? AND a.username = ? AND m.username = ? LIMIT 1`,
  )
  return {
    async find(org, id) {
      const row = await find.get(org, id)
      return row === undefined ? null : toRequest(row)
    },
    async page(org, { before, limit, state, username, seenBy }) {
      const wanted = [username, state].filter((value) => value !== null)
      const which = username === null ? 'all' : 'ofUser'
      const name = state === null ? which : username === null ? 'ofState' : 'ofBoth'
      const from: Value[] = [org, before === '' ? BEYOND_ALL : before, ...wanted]
      const rows =
        seenBy === null
          ? await pages[name].all(...from, limit)
          : await seen[name].all(...from, seenBy, org, seenBy, limit)
      return rows.map(toRequest)
    },
    async listOpen(org, username) {
      return (await listOpen.all(org, username)).map(toRequest)
    },
    async listGrants(org, username, at) {
      return (await listGrants.all(org, username, at)).map(toRequest)
    },
    async listDue(at, limit) {
      return (await listDue.all(at, limit)).map(toRequest)
    },
    async grantChanges() {
      return (await grantChanges.get())?.newest ?? 0
    },
    async holdersSince(changes) {
      const rows = await holdersSince.all(changes)
      return [...new Map(rows.map((row) => [`${row.org} ${row.username}`, row])).values()]
    },
    async approvers(org, teamId, { after, limit }) {
      const rows = await approvers.all(org, teamId, after, limit)
      return rows.map(({ username }) => username)
    },
    async isApproverOf(org, approver, username) {
      return (await isApproverOf.get(org, approver, username)) !== undefined
    },
  }
}

export function createAccessRequestWriter(connection: Connection): AccessRequestWriter {
  const marks = COLUMNS.map(() => '?').join(', ')
  const insert = connection.prepare(
    `INSERT INTO access_requests (${COLUMNS.join(', ')}, grant_change) VALUES (${marks}, 0)`,
    'governance',
  )
  const set = CHANGING.map((column) => `${column} = ?`).join(', ')
  const update = connection.prepare(
    `UPDATE access_requests SET ${set} WHERE org = ? AND id = ? AND state = ?`,
    'governance',
  )
  // Machines get other assignments by these, which are known by the device's account.
  const updateGrant = connection.prepare(
    `UPDATE access_requests SET ${set},
       grant_change = (SELECT max(grant_change) + 1 FROM access_requests)
     WHERE org = ? AND id = ? AND state = ?`,
    'everything',
  )
  const renewAssignments = connection.prepare(
    `UPDATE device_assignments
     SET version = CASE WHEN version < ? THEN ? ELSE version + 1 END
     WHERE device_id IN (SELECT id FROM devices WHERE org = ? AND username = ?)`,
    'progress',
  )
  const addApprover = connection.prepare(
    `INSERT INTO team_approvers (org, team_id, username) VALUES (?, ?, ?)
     ON CONFLICT (org, team_id, username) DO NOTHING`,
    'governance',
  )
  const removeApprover = connection.prepare(
    'DELETE FROM team_approvers WHERE org = ? AND team_id = ? AND username = ?',
    'governance',
  )
  return {
    ...createAccessRequestReader(connection),
    async insert(request) {
      const row = toRow(request)
      await insert.run(...COLUMNS.map((column) => row[column]))
    },
    async update(request, from) {
      const row = toRow(request)
      const { org, id, username, decided_at } = request
      const values = [...CHANGING.map((column) => row[column]), org, id, from]
      if (!isGrantChange(from, request.state)) return (await update.run(...values)) > 0
      if ((await updateGrant.run(...values)) === 0) return false
      const seconds = Math.floor(Date.parse(decided_at ?? request.created_at) / 1000)
      await renewAssignments.run(seconds, seconds, org, username)
      return true
    },
    async addApprover(org, teamId, username) {
      await addApprover.run(org, teamId, username)
    },
    async removeApprover(org, teamId, username) {
      return (await removeApprover.run(org, teamId, username)) > 0
    },
  }
}

/** A grant that ends by time is left out of assignments and ended by machines, without a change. */
function isGrantChange(from: AccessState, to: AccessState): boolean {
  return to === 'approved' || (from === 'approved' && to !== 'expired')
}

function toRow({ resources, once, grant, ...others }: AccessRequestRecord): Row {
  return {
    ...others,
    resources: JSON.stringify(resources),
    once: Number(once),
    granted: grant === null ? null : JSON.stringify(grant),
  }
}

function toRequest({ resources, once, granted, ...others }: Row): AccessRequestRecord {
  return {
    ...others,
    resources: JSON.parse(resources) as string[],
    once: once === 1,
    grant: granted === null ? null : (JSON.parse(granted) as AccessRequestRecord['grant']),
  }
}
