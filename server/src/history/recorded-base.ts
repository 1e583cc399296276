import type { EventRecord, PolicyRecord } from '../store/records.ts'
import {
  formatDetailedPolicy,
  formatDetailedRule,
} from '../store/aggregates/policies/format-policy.ts'
import {
  digestItem,
  digestOf,
  type ItemDigest,
  type ItemState,
  type RecordedItem,
} from './recorded-item.ts'

/**
 * The policies that a rollout began with, after an event of it: machines outside its stages get
 * copies of them, of which no event tells. Without all events before the start they are not known.
 */
export function baseAfter(
  { kind, sequence }: Pick<EventRecord, 'kind' | 'sequence'>,
  items: Iterable<RecordedItem>,
  isWhole: boolean,
): RecordedItem[] {
  if (kind === 'rollout.started') return isWhole ? recordBase(items, sequence) : []
  return [...items].flatMap((item) =>
    item.kind === 'rollout_policy' ? { ...item, sequence, digest: null } : [],
  )
}

/** A stored copy, in a form that has the digest of `baseAfter`. */
export function describeCopy(policy: PolicyRecord): ItemState {
  const rules = policy.rules.map((rule): [string, ItemDigest] => [
    rule.id,
    digestItem('rule', { ...formatDetailedRule(rule) }),
  ])
  return { ...formatDetailedPolicy({ ...policy, rules: [] }), rules: describeRules(rules) }
}

function recordBase(items: Iterable<RecordedItem>, sequence: number): RecordedItem[] {
  const policies: RecordedItem[] = []
  const rules = new Map<string, [string, ItemDigest][]>()
  for (const item of items) {
    if (item.digest === null) continue
    if (item.kind === 'policy') policies.push(item)
    if (item.kind !== 'rule') continue
    const policy = item.id.slice(0, item.id.indexOf('/'))
    const list = rules.get(policy)
    const rule: [string, ItemDigest] = [item.id.slice(policy.length + 1), item.digest]
    if (list === undefined) rules.set(policy, [rule])
    else list.push(rule)
  }
  return policies.map((policy) => {
    const digest = new Map(policy.digest)
    digest.set('rules', digestOf(describeRules(rules.get(policy.id) ?? [])))
    return { ...policy, kind: 'rollout_policy', sequence, digest }
  })
}

function describeRules(rules: readonly [string, ItemDigest][]): unknown {
  return Object.fromEntries(rules.map(([id, digest]) => [id, Object.fromEntries(digest)]))
}
