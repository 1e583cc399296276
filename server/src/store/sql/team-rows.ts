import type { DefaultDecision } from '@palisade/protocol'
import type { TeamRecord } from '../records.ts'
import { StoreError } from '../store-error.ts'
import type { TeamReader, TeamWriter } from '../contract/organizations.ts'
import type { BumpRevision } from './organization-rows.ts'
import type { Connection } from './connection.ts'
import { createSelectIn } from './select-in.ts'

interface TeamRow extends Omit<TeamRecord, 'default'> {
  readonly default_decision: DefaultDecision | null
}

export function createTeamReader(connection: Connection): TeamReader {
  const find = connection.prepare<TeamRow>('SELECT * FROM teams WHERE org = ? AND id = ?')
  const list = connection.prepare<TeamRow>('SELECT * FROM teams WHERE org = ? ORDER BY name')
  const page = connection.prepare<TeamRow>(
    'SELECT * FROM teams WHERE org = ? AND name > ? ORDER BY name LIMIT ?',
  )
  const count = connection.prepare<{ total: number }>(
    'SELECT CAST(count(*) AS INTEGER) AS total FROM teams WHERE org = ?',
  )
  const listOfUser = connection.prepare<{ team_id: string }>(
    'SELECT team_id FROM team_members WHERE org = ? AND username = ? ORDER BY team_id',
  )
  const listMembers = connection.prepare<{ username: string }>(
    'SELECT username FROM team_members WHERE org = ? AND team_id = ? ORDER BY username',
  )
  const listOfSome = createSelectIn<{ username: string; teams: string }>(
    connection,
    (usernames) => `SELECT username, string_agg(team_id, ',' ORDER BY team_id) AS teams
      FROM team_members WHERE org = ? AND username IN (${usernames}) GROUP BY username`,
  )
  const listOfUsers = connection.prepare<{ username: string; team_id: string }>(
    'SELECT username, team_id FROM team_members WHERE org = ? ORDER BY username, team_id',
  )
  const defaults = connection.prepare<{ id: string; default_decision: DefaultDecision }>(
    'SELECT id, default_decision FROM teams WHERE org = ? AND default_decision IS NOT NULL',
  )
  return {
    async find(org, id) {
      const row = await find.get(org, id)
      return row === undefined ? null : toTeam(row)
    },
    async list(org) {
      return (await list.all(org)).map(toTeam)
    },
    async page(org, { after, limit }) {
      return (await page.all(org, after, limit)).map(toTeam)
    },
    async count(org) {
      return (await count.get(org))?.total ?? 0
    },
    async listOfUser(org, username) {
      return (await listOfUser.all(org, username)).map((row) => row.team_id)
    },
    async listMembers(org, id) {
      return (await listMembers.all(org, id)).map(({ username }) => username)
    },
    async listOfSome(org, usernames) {
      const rows = await listOfSome([org], usernames)
      return new Map(rows.map(({ username, teams }) => [username, teams.split(',')]))
    },
    async defaults(org) {
      const rows = await defaults.all(org)
      return new Map(rows.map(({ id, default_decision }) => [id, default_decision]))
    },
    async listOfUsers(org) {
      const teams = new Map<string, string[]>()
      for (const { username, team_id } of await listOfUsers.all(org)) {
        const known = teams.get(username)
        if (known === undefined) teams.set(username, [team_id])
        else known.push(team_id)
      }
      return teams
    },
  }
}

export function createTeamWriter(connection: Connection, bumpRevision: BumpRevision): TeamWriter {
  const insert = connection.prepare(
    'INSERT INTO teams (id, org, name, default_decision) VALUES (?, ?, ?, ?)',
  )
  const updateDefault = connection.prepare(
    'UPDATE teams SET default_decision = ? WHERE org = ? AND id = ?',
  )
  const remove = connection.prepare('DELETE FROM teams WHERE org = ? AND id = ?')
  const isUsed = connection.prepare(
    'SELECT 1 FROM policy_teams WHERE org = ? AND team_id = ? LIMIT 1',
  )
  const addMember =
    connection.prepare(`INSERT INTO team_members (org, team_id, username) VALUES (?, ?, ?)
     ON CONFLICT (org, username, team_id) DO NOTHING`)
  const removeMember = connection.prepare(
    'DELETE FROM team_members WHERE org = ? AND team_id = ? AND username = ?',
  )
  return {
    ...createTeamReader(connection),
    async insert(team) {
      await insert.run(team.id, team.org, team.name, team.default ?? null)
      await bumpRevision(team.org)
    },
    async updateDefault(org, id, chosen) {
      if ((await updateDefault.run(chosen, org, id)) === 0)
        throw new StoreError('ERR_STORE_NOT_FOUND', `team \`${id}\` does not exist`)
      await bumpRevision(org)
    },
    async delete(org, id) {
      if ((await isUsed.get(org, id)) !== undefined)
        throw new StoreError('ERR_STORE_CONFLICT', `policies use team \`${id}\``, {
          subject: 'team_in_use',
        })
      if ((await remove.run(org, id)) === 0)
        throw new StoreError('ERR_STORE_NOT_FOUND', `team \`${id}\` does not exist`)
      await bumpRevision(org)
    },
    async addMember(org, id, username) {
      if ((await addMember.run(org, id, username)) > 0) await bumpRevision(org)
    },
    async removeMember(org, id, username) {
      const removed = (await removeMember.run(org, id, username)) > 0
      if (removed) await bumpRevision(org)
      return removed
    },
  }
}

function toTeam({ default_decision, ...row }: TeamRow): TeamRecord {
  return default_decision === null ? row : { ...row, default: default_decision }
}
