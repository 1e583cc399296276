import type { Database } from 'better-sqlite3'
import type { PolicyRecord } from '../records.ts'
import { StoreError } from '../store-error.ts'
import type { PolicyWriter } from '../store.ts'
import type { BumpRevision } from './organization-rows.ts'
import { createPolicyReader } from './policy-rows.ts'
import { prepare } from './statement.ts'

export function createPolicyWriter(database: Database, bumpRevision: BumpRevision): PolicyWriter {
  const reader = createPolicyReader(database)
  const insert = prepare(
    database,
    `INSERT INTO policies (id, org, name, created_at, updated_at, revision)
     VALUES (?, ?, ?, ?, ?, ?)`,
  )
  const update = prepare(
    database,
    'UPDATE policies SET name = ?, updated_at = ?, revision = ? WHERE org = ? AND id = ?',
  )
  const touch = prepare(
    database,
    'UPDATE policies SET updated_at = ?, revision = ? WHERE org = ? AND id = ?',
  )
  const remove = prepare(database, 'DELETE FROM policies WHERE org = ? AND id = ?')
  const clearTeams = prepare(database, 'DELETE FROM policy_teams WHERE org = ? AND policy_id = ?')
  const insertTeam = prepare(
    database,
    'INSERT INTO policy_teams (org, policy_id, position, team_id) VALUES (?, ?, ?, ?)',
  )
  const insertRule = prepare(
    database,
    `INSERT INTO rules (policy_id, id, name, actions, decision, resources)
     VALUES (?, ?, ?, ?, ?, ?)`,
  )
  const updateRule = prepare(
    database,
    `UPDATE rules SET name = ?, actions = ?, decision = ?, resources = ?
     WHERE policy_id = ? AND id = ?`,
  )
  const deleteRule = prepare(database, 'DELETE FROM rules WHERE policy_id = ? AND id = ?')

  function replaceTeams(org: string, id: string, teams: readonly string[]): void {
    clearTeams.run(org, id)
    for (const [position, team] of teams.entries()) insertTeam.run(org, id, position, team)
  }

  async function current(org: string, id: string): Promise<PolicyRecord> {
    const policy = await reader.find(org, id)
    if (policy === null) throw missing('policy', id)
    return policy
  }

  /** First in every rule change: it also proves that the policy belongs to the organization. */
  function stamp(at: { org: string; policyId: string; updated_at: string }): void {
    const revision = bumpRevision(at.org)
    if (touch.run(at.updated_at, revision, at.org, at.policyId) === 0)
      throw missing('policy', at.policyId)
  }

  return {
    ...reader,
    async insert({ id, org, name, teams, created_at, updated_at }) {
      insert.run(id, org, name, created_at, updated_at, bumpRevision(org))
      replaceTeams(org, id, teams)
      return current(org, id)
    },
    async update({ org, id, name, teams, updated_at }) {
      if (update.run(name, updated_at, bumpRevision(org), org, id) === 0)
        throw missing('policy', id)
      replaceTeams(org, id, teams)
      return current(org, id)
    },
    async delete(org, id) {
      bumpRevision(org)
      if (remove.run(org, id) === 0) throw missing('policy', id)
    },
    async insertRule(at, rule) {
      stamp(at)
      const [actions, resources] = [JSON.stringify(rule.actions), JSON.stringify(rule.resources)]
      insertRule.run(at.policyId, rule.id, rule.name, actions, rule.decision, resources)
      return current(at.org, at.policyId)
    },
    async updateRule(at, rule) {
      stamp(at)
      const [actions, resources] = [JSON.stringify(rule.actions), JSON.stringify(rule.resources)]
      const { id, name, decision } = rule
      if (updateRule.run(name, actions, decision, resources, at.policyId, id) === 0)
        throw missing('rule', id)
      return current(at.org, at.policyId)
    },
    async deleteRule(at, ruleId) {
      stamp(at)
      if (deleteRule.run(at.policyId, ruleId) === 0) throw missing('rule', ruleId)
      return current(at.org, at.policyId)
    },
  }
}

function missing(what: string, id: string): StoreError {
  return new StoreError('ERR_STORE_NOT_FOUND', `${what} \`${id}\` is not there`)
}
