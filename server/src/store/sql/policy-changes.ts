import type { PolicyRecord, RuleRecord } from '../records.ts'
import { StoreError } from '../store-error.ts'
import type { PolicyWriter, RulePlace } from '../contract/policies.ts'
import type { BumpRevision } from './organization-rows.ts'
import { createPolicyReader } from './policy-rows.ts'
import type { Connection, Value } from './connection.ts'

/** Rules of one INSERT: a round trip for each would make a large change slow on PostgreSQL. */
const CHUNK = 50

export function createPolicyWriter(
  connection: Connection,
  bumpRevision: BumpRevision,
): PolicyWriter {
  const reader = createPolicyReader(connection)
  const insert =
    connection.prepare(`INSERT INTO policies (id, org, name, created_at, updated_at, revision)
     VALUES (?, ?, ?, ?, ?, ?)`)
  const update = connection.prepare(
    'UPDATE policies SET name = ?, updated_at = ?, revision = ? WHERE org = ? AND id = ?',
  )
  const touch = connection.prepare(
    'UPDATE policies SET updated_at = ?, revision = ? WHERE org = ? AND id = ?',
  )
  const remove = connection.prepare('DELETE FROM policies WHERE org = ? AND id = ?')
  const clearTeams = connection.prepare('DELETE FROM policy_teams WHERE org = ? AND policy_id = ?')
  const insertTeam = connection.prepare(
    'INSERT INTO policy_teams (org, policy_id, position, team_id) VALUES (?, ?, ?, ?)',
  )
  const insertRule = connection.prepare(insertRules(1))
  const insertChunk = connection.prepare(insertRules(CHUNK))
  const updateRule =
    connection.prepare(`UPDATE rules SET name = ?, actions = ?, decision = ?, resources = ?
     WHERE policy_id = ? AND id = ?`)
  const deleteRule = connection.prepare('DELETE FROM rules WHERE policy_id = ? AND id = ?')
  const clearRules = connection.prepare('DELETE FROM rules WHERE policy_id = ?')

  async function replaceTeams(org: string, id: string, teams: readonly string[]): Promise<void> {
    await clearTeams.run(org, id)
    for (const [position, team] of teams.entries()) await insertTeam.run(org, id, position, team)
  }

  async function current(org: string, id: string): Promise<PolicyRecord> {
    const policy = await reader.find(org, id)
    if (policy === null) throw missing('policy', id)
    return policy
  }

  /** First in every rule change: it also proves that the policy belongs to the organization. */
  async function stamp(at: RulePlace): Promise<void> {
    const revision = await bumpRevision(at.org)
    if ((await touch.run(at.updated_at, revision, at.org, at.policyId)) === 0)
      throw missing('policy', at.policyId)
  }

  return {
    ...reader,
    async insert({ id, org, name, teams, created_at, updated_at }) {
      await insert.run(id, org, name, created_at, updated_at, await bumpRevision(org))
      await replaceTeams(org, id, teams)
      return current(org, id)
    },
    async update({ org, id, name, teams, updated_at }) {
      if ((await update.run(name, updated_at, await bumpRevision(org), org, id)) === 0)
        throw missing('policy', id)
      await replaceTeams(org, id, teams)
      return current(org, id)
    },
    async delete(org, id) {
      await bumpRevision(org)
      if ((await remove.run(org, id)) === 0) throw missing('policy', id)
    },
    async insertRule(at, rule) {
      await stamp(at)
      await insertRule.run(...rowOf(at.policyId, rule))
      return current(at.org, at.policyId)
    },
    async updateRule(at, rule) {
      await stamp(at)
      const [actions, resources] = [JSON.stringify(rule.actions), JSON.stringify(rule.resources)]
      const { id, name, decision } = rule
      if ((await updateRule.run(name, actions, decision, resources, at.policyId, id)) === 0)
        throw missing('rule', id)
      return current(at.org, at.policyId)
    },
    async deleteRule(at, ruleId) {
      await stamp(at)
      if ((await deleteRule.run(at.policyId, ruleId)) === 0) throw missing('rule', ruleId)
      return current(at.org, at.policyId)
    },
    async replaceRules(at, rules) {
      await stamp(at)
      await clearRules.run(at.policyId)
      const rows = rules.map((rule) => rowOf(at.policyId, rule))
      const chunked = rows.length - (rows.length % CHUNK)
      for (let first = 0; first < chunked; first += CHUNK)
        await insertChunk.run(...rows.slice(first, first + CHUNK).flat())
      for (const row of rows.slice(chunked)) await insertRule.run(...row)
      return current(at.org, at.policyId)
    },
  }
}

function insertRules(count: number): string {
  const rows = Array.from({ length: count }, () => '(?, ?, ?, ?, ?, ?)').join(', ')
  return `INSERT INTO rules (policy_id, id, name, actions, decision, resources) VALUES ${rows}`
}

function rowOf(policyId: string, rule: RuleRecord): Value[] {
  const [actions, resources] = [JSON.stringify(rule.actions), JSON.stringify(rule.resources)]
  return [policyId, rule.id, rule.name, actions, rule.decision, resources]
}

function missing(what: string, id: string): StoreError {
  return new StoreError('ERR_STORE_NOT_FOUND', `${what} \`${id}\` is not there`)
}
