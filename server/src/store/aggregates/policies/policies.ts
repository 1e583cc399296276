import type { EventKind } from '@palisade/protocol'
import { defineAggregate } from '../aggregate.ts'
import { createPolicyWriter } from './policy-changes.ts'
import { createPolicyReader } from './policy-rows.ts'
import { formatDetailedPolicy, formatDetailedRule } from './format-policy.ts'
import type { PolicyReader, PolicyWriter } from './policy-contract.ts'
import type { Change, ChangeRecorder, Writes } from '../../change.ts'
import type { PolicyRecord, RuleRecord } from '../../records.ts'
import { StoreError } from '../../store-error.ts'

export const POLICIES = defineAggregate({
  tables: [
    { name: 'policies', key: ['id'] },
    { name: 'policy_teams', key: ['policy_id', 'position'] },
    { name: 'rules', key: ['place'] },
  ],
  reader: createPolicyReader,
  writer: createPolicyWriter,
  events: auditPolicies,
})

/** Writes of policies and rules that leave events. */
function auditPolicies(
  policies: PolicyWriter,
  { record }: ChangeRecorder,
): Writes<PolicyWriter, PolicyReader> {
  async function current(org: string, id: string): Promise<PolicyRecord> {
    const policy = await policies.find(org, id)
    if (policy === null)
      throw new StoreError('ERR_STORE_NOT_FOUND', `policy \`${id}\` does not exist`)
    return policy
  }

  return {
    async insert(head) {
      const policy = await policies.insert(head)
      await record({ ...subjectOf('policy.created', policy), before: null, after: show(policy) })
      return policy
    },
    async update(head) {
      const old = await current(head.org, head.id)
      const policy = await policies.update(head)
      const change = subjectOf('policy.updated', policy)
      await record({ ...change, before: show(old), after: show(policy) })
      return policy
    },
    async delete(org, id) {
      const old = await current(org, id)
      await policies.delete(org, id)
      await record({
        ...subjectOf('policy.deleted', old),
        before: formatDetailedPolicy(old),
        after: null,
      })
    },
    async insertRule(at, rule) {
      const policy = await policies.insertRule(at, rule)
      const after = formatDetailedRule(rule)
      await record({ ...ruleChange('rule.created', policy, rule), before: null, after })
      return policy
    },
    async updateRule(at, rule) {
      const old = findRule(await current(at.org, at.policyId), rule.id)
      const policy = await policies.updateRule(at, rule)
      const change = ruleChange('rule.updated', policy, rule)
      await record({ ...change, before: formatDetailedRule(old), after: formatDetailedRule(rule) })
      return policy
    },
    async deleteRule(at, ruleId) {
      const old = findRule(await current(at.org, at.policyId), ruleId)
      const policy = await policies.deleteRule(at, ruleId)
      const before = formatDetailedRule(old)
      await record({ ...ruleChange('rule.deleted', policy, old), before, after: null })
      return policy
    },
    async replaceRules(at, rules) {
      const old = await current(at.org, at.policyId)
      const policy = await policies.replaceRules(at, rules)
      for (const change of replacements(old, policy)) await record(change)
      return policy
    },
  }
}

/** The change of each rule one by one, and then the order if it does not follow from them. */
function replacements(old: PolicyRecord, policy: PolicyRecord): Change[] {
  const [before, after] = [byId(old), byId(policy)]
  const deleted = old.rules
    .filter(({ id }) => !after.has(id))
    .map((rule) => ({ ...ruleChange('rule.deleted', policy, rule), before: rule, after: null }))
  const updated = policy.rules.flatMap((rule) => {
    const previous = before.get(rule.id)
    if (previous === undefined) return []
    return { ...ruleChange('rule.updated', policy, rule), before: previous, after: rule }
  })
  const created = policy.rules
    .filter(({ id }) => !before.has(id))
    .map((rule) => ({ ...ruleChange('rule.created', policy, rule), before: null, after: rule }))
  const changes = [...deleted, ...updated, ...created].map((change) => ({
    ...change,
    before: change.before === null ? null : formatDetailedRule(change.before),
    after: change.after === null ? null : formatDetailedRule(change.after),
  }))

  const order = policy.rules.map(({ id }) => id)
  const kept = old.rules.filter(({ id }) => after.has(id))
  const outcome = [...kept.map(({ id }) => id), ...created.map(({ subject }) => subject.id)]
  if (order.every((id, index) => id === outcome[index])) return changes
  const shown = { before: { rules: old.rules.map(({ id }) => id) }, after: { rules: order } }
  return [...changes, { ...subjectOf('policy.rules_reordered', policy), ...shown }]
}

function byId({ rules }: PolicyRecord): Map<string, RuleRecord> {
  return new Map(rules.map((rule) => [rule.id, rule]))
}

/**
 * The policy without its rules, which have events of their own: a new name of a large policy
 * would be kept as two copies of all of them.
 */
function show(policy: PolicyRecord) {
  return formatDetailedPolicy({ ...policy, rules: [] })
}

function subjectOf(kind: EventKind, { org, id, name }: PolicyRecord) {
  return { scope: { org }, kind, subject: { id, name } }
}

function ruleChange(kind: EventKind, policy: PolicyRecord, { id, name }: RuleRecord) {
  return { scope: { org: policy.org }, kind, subject: { id, name, policy_id: policy.id } }
}

function findRule(policy: PolicyRecord, id: string): RuleRecord {
  const rule = policy.rules.find((candidate) => candidate.id === id)
  if (rule === undefined)
    throw new StoreError('ERR_STORE_NOT_FOUND', `rule \`${id}\` does not exist`)
  return rule
}
