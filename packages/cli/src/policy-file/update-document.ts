import { parseInstant } from '@palisade/policy-core'
import type { ShownPolicy } from '@palisade/protocol'
import {
  isMap,
  isScalar,
  isSeq,
  type Document,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import { setPolicyStyle, setRuleStyle, toPlain } from './render-policies.ts'

type Rule = ShownPolicy['rules'][number]

/**
 * Updates a document to these policies. Keeps comments, the order of policies and formatting where
 * possible. `isSameTeam` says whether two entries of a scope mean one team. The document must have
 * passed `loadSources`.
 */
export function updateDocument(
  document: Document,
  policies: readonly ShownPolicy[],
  isSameTeam: (a: string, b: string) => boolean,
): void {
  const list = document.get('policies')
  if (!isSeq(list)) throw new TypeError('the document has no policies')
  const wanted = new Map(policies.map((policy) => [policy.name, policy]))
  list.items = list.items.filter((item) => {
    const policy = isMap(item) ? wanted.get(nameOf(item)) : undefined
    if (policy === undefined || !isMap(item)) return false
    updatePolicy(document, item, policy, isSameTeam)
    return wanted.delete(policy.name)
  })
  for (const policy of wanted.values()) {
    const item = document.createNode(toPlain(policy)) as YAMLMap
    setPolicyStyle(item)
    item.spaceBefore = list.items.length > 0
    list.items.push(item)
  }
  // Otherwise the first policy of an empty `[]` would be written inside the brackets.
  if (list.items.length > 0 && policies.length > 0) list.flow = false
}

function updatePolicy(
  document: Document,
  item: YAMLMap,
  policy: ShownPolicy,
  isSameTeam: (a: string, b: string) => boolean,
): void {
  const written = readTeams(item)
  const teams = policy.scope.teams ?? []
  const isSame =
    written.length === teams.length &&
    written.every((team, index) => isSameTeam(team, teams[index] ?? ''))
  if (!isSame) {
    item.set('scope', document.createNode(policy.scope))
    setPolicyStyle(item)
  }
  // A mode that the file names stays there where it says the same.
  if ((item.get('mode') ?? 'enforce') !== (policy.mode ?? 'enforce'))
    setOrDelete(item, 'mode', policy.mode)
  const rules = item.get('rules')
  if (!isSeq(rules)) throw new TypeError('the policy has no rules')
  const known = new Map(
    rules.items.filter((rule) => isMap(rule)).map((rule) => [nameOf(rule), rule]),
  )
  const wasEmpty = rules.items.length === 0
  rules.items = policy.rules.map((rule) => {
    const present = known.get(rule.name)
    if (present === undefined) return createRule(document, rule)
    updateRule(document, present, rule)
    return present
  })
  if (wasEmpty && rules.items.length > 0) rules.flow = false
}

function createRule(document: Document, { expires_at, ...given }: Rule): YAMLMap {
  const { name, actions, decision, resources } = given
  const expiry = expires_at === undefined ? {} : { expires_at }
  const rule = document.createNode({ name, actions, decision, resources, ...expiry }) as YAMLMap
  setRuleStyle(rule)
  return rule
}

function updateRule(document: Document, item: YAMLMap, rule: Rule): void {
  const decision = item.get('decision', true)
  if (isScalar(decision) && decision.value !== rule.decision) decision.value = rule.decision
  if (instantOf(item.get('expires_at')) !== instantOf(rule.expires_at))
    setOrDelete(item, 'expires_at', rule.expires_at)
  for (const member of ['actions', 'resources'] as const) {
    const list = item.get(member)
    if (isSeq(list)) updateTexts(document, list, rule[member])
  }
}

function setOrDelete(item: YAMLMap, member: string, value: string | undefined): void {
  if (value === undefined) item.delete(member)
  else item.set(member, value)
}

/** Two spellings of one instant are equal. */
function instantOf(text: unknown): number | null {
  return typeof text === 'string' ? parseInstant(text) : null
}

/** Entries that stay keep their comments; an equal list is not touched. */
function updateTexts(document: Document, list: YAMLSeq, texts: readonly string[]): void {
  const present = list.items.filter((item) => isScalar(item))
  const isSame =
    present.length === texts.length && present.every(({ value }, index) => value === texts[index])
  if (isSame) return
  const known = new Map(present.map((item) => [item.value, item]))
  list.items = texts.map((text) => {
    const item = known.get(text)
    known.delete(text)
    return item ?? (document.createNode(text) as Scalar)
  })
}

function readTeams(item: YAMLMap): readonly string[] {
  const teams = item.getIn(['scope', 'teams'])
  return isSeq(teams) ? (teams.toJSON() as string[]) : []
}

/** Normalizes the name like the schema. */
function nameOf(item: YAMLMap): string {
  return String(item.get('name')).trim().normalize('NFC')
}
