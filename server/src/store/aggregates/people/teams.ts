import type { DefaultDecision, Team } from '@palisade/protocol'
import { defineAggregate, type WriterContext } from '../aggregate.ts'
import { createShowMember, type MembershipReader } from './memberships.ts'
import type { NamePage } from './name-page.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import type { TeamRecord } from '../../records.ts'
import type { Connection } from '../../sql/connection.ts'
import { createSelectIn } from '../../sql/select-in.ts'
import { StoreError } from '../../store-error.ts'

export interface TeamReader {
  find(org: string, id: string): Promise<TeamRecord | null>
  /** Lists teams by name. */
  list(org: string): Promise<TeamRecord[]>
  page(org: string, page: NamePage): Promise<TeamRecord[]>
  count(org: string): Promise<number>
  /** Team ids of one member, ascending. */
  listOfUser(org: string, username: string): Promise<string[]>
  /** Usernames of the team's members, ascending. */
  listMembers(org: string, id: string): Promise<string[]>
  /** Reads `listOfUsers` for these members alone. */
  listOfSome(org: string, usernames: readonly string[]): Promise<Map<string, string[]>>
  /** Reads the default decisions of all teams that have chosen one, by team id. */
  defaults(org: string): Promise<Map<string, DefaultDecision>>
  /** Team ids of every member of a team, ascending. */
  listOfUsers(org: string): Promise<Map<string, string[]>>
}

export interface TeamWriter extends TeamReader {
  insert(team: TeamRecord): Promise<void>
  /** Null: the team has no say. Throws `ERR_STORE_NOT_FOUND`. */
  updateDefault(org: string, id: string, chosen: DefaultDecision | null): Promise<void>
  /** Throws `ERR_STORE_CONFLICT` (`team_in_use`) while a policy names the team. */
  delete(org: string, id: string): Promise<void>
  /** No change for a member of the team; the user must be a member of the organization. */
  addMember(org: string, id: string, username: string): Promise<void>
  /** False when the user is not in the team. */
  removeMember(org: string, id: string, username: string): Promise<boolean>
}

export const TEAMS = defineAggregate({
  tables: [
    { name: 'teams', key: ['id'] },
    { name: 'team_members', key: ['org', 'username', 'team_id'] },
  ],
  reader: createTeamReader,
  writer: createTeamWriter,
  events: auditTeams,
})

function auditTeams(
  teams: TeamWriter,
  { record }: ChangeRecorder,
  { memberships }: { readonly memberships: Pick<MembershipReader, 'find'> },
): Writes<TeamWriter, TeamReader> {
  const showMember = createShowMember(memberships, teams)
  return {
    async insert(team) {
      await teams.insert(team)
      const change = { scope: { org: team.org }, kind: 'team.created' as const }
      await record({ ...change, subject: nameTeam(team), before: null, after: showTeam(team) })
    },
    async updateDefault(org, id, chosen) {
      const before = showTeam(await findTeam(teams, org, id))
      await teams.updateDefault(org, id, chosen)
      const after = showTeam(await findTeam(teams, org, id))
      const change = { scope: { org }, kind: 'team.updated' as const, subject: nameTeam(after) }
      await record({ ...change, before, after })
    },
    async delete(org, id) {
      const team = await findTeam(teams, org, id)
      // The members leave the team with it, and no other event would name them.
      const members = await teams.listMembers(org, id)
      await teams.delete(org, id)
      const before = { ...showTeam(team), members }
      const change = { scope: { org }, kind: 'team.deleted' as const, subject: nameTeam(team) }
      await record({ ...change, before, after: null })
    },
    async addMember(org, id, username) {
      const before = await showMember(org, username)
      await teams.addMember(org, id, username)
      const subject = nameTeam(await findTeam(teams, org, id))
      const after = await showMember(org, username)
      await record({ scope: { org }, kind: 'team.member_added', subject, before, after })
    },
    async removeMember(org, id, username) {
      const before = await showMember(org, username)
      if (!(await teams.removeMember(org, id, username))) return false
      const subject = nameTeam(await findTeam(teams, org, id))
      const after = await showMember(org, username)
      await record({ scope: { org }, kind: 'team.member_removed', subject, before, after })
      return true
    },
  }
}

function showTeam({ org: _org, ...team }: TeamRecord): Team {
  return team
}

function nameTeam({ id, name }: Team): { id: string; name: string } {
  return { id, name }
}

async function findTeam(teams: TeamReader, org: string, id: string): Promise<TeamRecord> {
  const team = await teams.find(org, id)
  if (team === null) throw new StoreError('ERR_STORE_NOT_FOUND', `team \`${id}\` does not exist`)
  return team
}

interface TeamRow extends Omit<TeamRecord, 'default'> {
  readonly default_decision: DefaultDecision | null
}

function createTeamReader(connection: Connection): TeamReader {
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

function createTeamWriter(connection: Connection, { bumpRevision }: WriterContext): TeamWriter {
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
