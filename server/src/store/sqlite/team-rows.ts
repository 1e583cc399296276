import type { Database } from 'better-sqlite3'
import type { TeamRecord } from '../records.ts'
import { StoreError } from '../store-error.ts'
import type { TeamReader, TeamWriter } from '../store.ts'
import type { BumpRevision } from './organization-rows.ts'
import { prepare } from './statement.ts'

export function createTeamReader(database: Database): TeamReader {
  const find = prepare<TeamRecord>(database, 'SELECT * FROM teams WHERE org = ? AND id = ?')
  const list = prepare<TeamRecord>(database, 'SELECT * FROM teams WHERE org = ? ORDER BY name')
  const listOfUser = prepare<{ team_id: string }>(
    database,
    'SELECT team_id FROM team_members WHERE org = ? AND username = ? ORDER BY team_id',
  )
  const listOfUsers = prepare<{ username: string; team_id: string }>(
    database,
    'SELECT username, team_id FROM team_members WHERE org = ? ORDER BY username, team_id',
  )
  return {
    async find(org, id) {
      return find.get(org, id) ?? null
    },
    async list(org) {
      return list.all(org)
    },
    async listOfUser(org, username) {
      return listOfUser.all(org, username).map((row) => row.team_id)
    },
    async listOfUsers(org) {
      const teams = new Map<string, string[]>()
      for (const { username, team_id } of listOfUsers.all(org)) {
        const known = teams.get(username)
        if (known === undefined) teams.set(username, [team_id])
        else known.push(team_id)
      }
      return teams
    },
  }
}

export function createTeamWriter(database: Database, bumpRevision: BumpRevision): TeamWriter {
  const insert = prepare(database, 'INSERT INTO teams (id, org, name) VALUES (?, ?, ?)')
  const remove = prepare(database, 'DELETE FROM teams WHERE org = ? AND id = ?')
  const isUsed = prepare(
    database,
    'SELECT 1 FROM policy_teams WHERE org = ? AND team_id = ? LIMIT 1',
  )
  const addMember = prepare(
    database,
    `INSERT INTO team_members (org, team_id, username) VALUES (?, ?, ?)
     ON CONFLICT (org, username, team_id) DO NOTHING`,
  )
  const removeMember = prepare(
    database,
    'DELETE FROM team_members WHERE org = ? AND team_id = ? AND username = ?',
  )
  return {
    ...createTeamReader(database),
    async insert(team) {
      insert.run(team.id, team.org, team.name)
      bumpRevision(team.org)
    },
    async delete(org, id) {
      if (isUsed.get(org, id) !== undefined)
        throw new StoreError('ERR_STORE_CONFLICT', `policies use team \`${id}\``, {
          subject: 'team_in_use',
        })
      if (remove.run(org, id) === 0)
        throw new StoreError('ERR_STORE_NOT_FOUND', `team \`${id}\` is not there`)
      bumpRevision(org)
    },
    async addMember(org, id, username) {
      if (addMember.run(org, id, username) > 0) bumpRevision(org)
    },
    async removeMember(org, id, username) {
      const removed = removeMember.run(org, id, username) > 0
      if (removed) bumpRevision(org)
      return removed
    },
  }
}
