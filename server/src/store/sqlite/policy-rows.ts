import type { Database } from 'better-sqlite3'
import type { PolicyHeadRecord, RuleRecord } from '../records.ts'
import type { PolicyReader } from '../store.ts'
import { prepare } from './statement.ts'

/** A policy's columns with its team ids as one JSON array in their order. */
const HEAD = `
  SELECT p.*, (
    SELECT json_group_array(t.team_id ORDER BY t.position)
    FROM policy_teams t WHERE t.policy_id = p.id
  ) AS teams
  FROM policies p`

interface HeadRow extends Omit<PolicyHeadRecord, 'teams'> {
  readonly teams: string
}

interface RuleRow {
  readonly policy_id: string
  readonly id: string
  readonly name: string
  readonly actions: string
  readonly decision: RuleRecord['decision']
  readonly resources: string
}

export function createPolicyReader(database: Database): PolicyReader {
  const find = prepare<HeadRow>(database, `${HEAD} WHERE p.org = ? AND p.id = ?`)
  const findByName = prepare<HeadRow>(database, `${HEAD} WHERE p.org = ? AND p.name = ?`)
  const list = prepare<HeadRow>(
    database,
    `${HEAD} WHERE p.org = ? AND p.id > ? ORDER BY p.id LIMIT ?`,
  )
  const listAll = prepare<HeadRow>(database, `${HEAD} WHERE p.org = ? ORDER BY p.id`)
  const listUsingTeam = prepare<HeadRow>(
    database,
    `${HEAD} WHERE p.id IN (SELECT policy_id FROM policy_teams WHERE org = ? AND team_id = ?)
     ORDER BY p.id`,
  )
  const count = prepare<{ total: number }>(
    database,
    'SELECT count(*) AS total FROM policies WHERE org = ?',
  )
  const rulesOfPolicy = prepare<RuleRow>(
    database,
    'SELECT * FROM rules WHERE policy_id = ? ORDER BY place',
  )
  const rulesOfOrganization = prepare<RuleRow>(
    database,
    `SELECT r.* FROM rules r JOIN policies p ON p.id = r.policy_id
     WHERE p.org = ? ORDER BY r.place`,
  )
  return {
    async find(org, id) {
      const row = find.get(org, id)
      if (row === undefined) return null
      return { ...toHead(row), rules: rulesOfPolicy.all(id).map(toRule) }
    },
    async findByName(org, name) {
      const row = findByName.get(org, name)
      return row === undefined ? null : toHead(row)
    },
    async list(org, { afterId, limit }) {
      return list.all(org, afterId, limit).map(toHead)
    },
    async listWithRules(org) {
      const rules = Map.groupBy(rulesOfOrganization.all(org), (rule) => rule.policy_id)
      return listAll.all(org).map((row) => ({
        ...toHead(row),
        rules: (rules.get(row.id) ?? []).map(toRule),
      }))
    },
    async listUsingTeam(org, teamId) {
      return listUsingTeam.all(org, teamId).map(toHead)
    },
    async count(org) {
      return count.get(org)?.total ?? 0
    },
  }
}

function toHead(row: HeadRow): PolicyHeadRecord {
  return { ...row, teams: JSON.parse(row.teams) as string[] }
}

function toRule(row: RuleRow): RuleRecord {
  return {
    id: row.id,
    name: row.name,
    actions: JSON.parse(row.actions) as RuleRecord['actions'],
    decision: row.decision,
    resources: JSON.parse(row.resources) as string[],
  }
}
