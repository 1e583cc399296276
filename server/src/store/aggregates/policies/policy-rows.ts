import type { PolicyReader } from './policy-contract.ts'
import type { PolicyHeadRecord, RuleRecord } from '../../records.ts'
import type { Connection } from '../../sql/connection.ts'

/**
 * A policy's columns with its team ids, which have no commas, in their order; null without teams.
 */
const HEAD = `
  SELECT p.*, (
    SELECT string_agg(t.team_id, ',' ORDER BY t.position)
    FROM policy_teams t WHERE t.policy_id = p.id
  ) AS teams
  FROM policies p`

interface HeadRow extends Omit<PolicyHeadRecord, 'teams' | 'mode'> {
  readonly teams: string | null
  readonly mode: string | null
}

interface RuleRow {
  readonly policy_id: string
  readonly id: string
  readonly name: string
  readonly actions: string
  readonly decision: RuleRecord['decision']
  readonly resources: string
  readonly expires_at: string | null
}

export function createPolicyReader(connection: Connection): PolicyReader {
  const find = connection.prepare<HeadRow>(`${HEAD} WHERE p.org = ? AND p.id = ?`)
  const findByName = connection.prepare<HeadRow>(`${HEAD} WHERE p.org = ? AND p.name = ?`)
  const list = connection.prepare<HeadRow>(
    `${HEAD} WHERE p.org = ? AND p.id > ? ORDER BY p.id LIMIT ?`,
  )
  const listAll = connection.prepare<HeadRow>(`${HEAD} WHERE p.org = ? ORDER BY p.id`)
  const listUsingTeam = connection.prepare<HeadRow>(`${HEAD}
     WHERE p.id IN (SELECT policy_id FROM policy_teams WHERE org = ? AND team_id = ?)
     ORDER BY p.id`)
  const count = connection.prepare<{ total: number }>(
    'SELECT CAST(count(*) AS INTEGER) AS total FROM policies WHERE org = ?',
  )
  const rulesOfPolicy = connection.prepare<RuleRow>(
    'SELECT * FROM rules WHERE policy_id = ? ORDER BY place',
  )
  const rulesOfOrganization =
    connection.prepare<RuleRow>(`SELECT r.* FROM rules r JOIN policies p ON p.id = r.policy_id
     WHERE p.org = ? ORDER BY r.place`)
  return {
    async find(org, id) {
      const row = await find.get(org, id)
      if (row === undefined) return null
      return { ...toHead(row), rules: (await rulesOfPolicy.all(id)).map(toRule) }
    },
    async findByName(org, name) {
      const row = await findByName.get(org, name)
      return row === undefined ? null : toHead(row)
    },
    async list(org, { afterId, limit }) {
      return (await list.all(org, afterId, limit)).map(toHead)
    },
    async listWithRules(org) {
      const rules = Map.groupBy(await rulesOfOrganization.all(org), (rule) => rule.policy_id)
      return (await listAll.all(org)).map((row) => ({
        ...toHead(row),
        rules: (rules.get(row.id) ?? []).map(toRule),
      }))
    },
    async listUsingTeam(org, teamId) {
      return (await listUsingTeam.all(org, teamId)).map(toHead)
    },
    async count(org) {
      return (await count.get(org))?.total ?? 0
    },
  }
}

function toHead({ teams, mode, ...row }: HeadRow): PolicyHeadRecord {
  const shadow = mode === 'shadow' ? ({ mode } as const) : {}
  return { ...row, teams: teams?.split(',') ?? [], ...shadow }
}

function toRule(row: RuleRow): RuleRecord {
  return {
    id: row.id,
    name: row.name,
    actions: JSON.parse(row.actions) as RuleRecord['actions'],
    decision: row.decision,
    resources: JSON.parse(row.resources) as string[],
    ...(row.expires_at === null ? {} : { expires_at: row.expires_at }),
  }
}
