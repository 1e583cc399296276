import type { PolicyWriter, PolicyEdit } from './policy-contract.ts'
import type { PolicyRecord, RuleRecord } from '../../records.ts'
import type { Connection, Value } from '../../sql/connection.ts'
import { rowNotFound } from '../../sql/row-not-found.ts'

/** Rules of one INSERT: a round trip for each would make a large change slow on PostgreSQL. */
const CHUNK = 50

type RuleWrites = Pick<PolicyWriter, 'insertRule' | 'updateRule' | 'deleteRule' | 'replaceRules'>

/** Runs a write of the rules of a policy, and returns the policy with the rules from `become`. */
type ChangeRules = (
  at: PolicyEdit,
  write: () => Promise<void>,
  become: (rules: readonly RuleRecord[]) => readonly RuleRecord[],
) => Promise<PolicyRecord>

export function createRuleWrites(connection: Connection, changeRules: ChangeRules): RuleWrites {
  const insert = connection.prepare(insertRules(1), 'governance')
  const insertChunk = connection.prepare(insertRules(CHUNK), 'governance')
  const update = connection.prepare(
    `UPDATE rules SET name = ?, actions = ?, decision = ?, resources = ?, expires_at = ?
     WHERE policy_id = ? AND id = ?`,
    'governance',
  )
  const remove = connection.prepare(
    'DELETE FROM rules WHERE policy_id = ? AND id = ?',
    'governance',
  )
  const clear = connection.prepare('DELETE FROM rules WHERE policy_id = ?', 'governance')

  return {
    insertRule(at, rule) {
      const row = rowOf(at.policyId, rule)
      return changeRules(
        at,
        async () => void (await insert.run(...row)),
        (rules) => [...rules, rule],
      )
    },
    updateRule(at, rule) {
      const [, , ...columns] = rowOf(at.policyId, rule)
      return changeRules(
        at,
        async () => {
          if ((await update.run(...columns, at.policyId, rule.id)) === 0)
            throw rowNotFound('rule', rule.id)
        },
        (rules) => rules.map((other) => (other.id === rule.id ? rule : other)),
      )
    },
    deleteRule(at, ruleId) {
      return changeRules(
        at,
        async () => {
          if ((await remove.run(at.policyId, ruleId)) === 0) throw rowNotFound('rule', ruleId)
        },
        (rules) => rules.filter(({ id }) => id !== ruleId),
      )
    },
    replaceRules(at, rules) {
      return changeRules(
        at,
        async () => {
          await clear.run(at.policyId)
          const rows = rules.map((rule) => rowOf(at.policyId, rule))
          const chunked = rows.length - (rows.length % CHUNK)
          for (let first = 0; first < chunked; first += CHUNK)
            await insertChunk.run(...rows.slice(first, first + CHUNK).flat())
          for (const row of rows.slice(chunked)) await insert.run(...row)
        },
        () => [...rules],
      )
    },
  }
}

function insertRules(count: number): string {
  const rows = Array.from({ length: count }, () => '(?, ?, ?, ?, ?, ?, ?)').join(', ')
  const columns = 'policy_id, id, name, actions, decision, resources, expires_at'
  return `INSERT INTO rules (${columns}) VALUES ${rows}`
}

function rowOf(policyId: string, rule: RuleRecord): Value[] {
  const [actions, resources] = [JSON.stringify(rule.actions), JSON.stringify(rule.resources)]
  const expires = rule.expires_at ?? null
  return [policyId, rule.id, rule.name, actions, rule.decision, resources, expires]
}
