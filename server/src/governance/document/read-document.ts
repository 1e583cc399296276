import { documentPolicySchema, documentRuleSchema } from '@palisade/protocol'
import { z } from 'zod'
import { invalidArgument } from '../../platform/api-error.ts'
import { quote } from '../../http/input/describe-issue.ts'
import { readInput, requireFewValues } from '../../http/body/read-body.ts'
import { withinField, withinFieldInTurns } from '../../http/input/within-field.ts'
import type { Work } from '../../work/work-budget.ts'
import type { PolicyRecord, RuleRecord } from '../../store/records.ts'
import {
  policyBytes,
  requirePolicyBytes,
  requireRoomForPolicy,
  requireRuleCount,
  type PolicyLimits,
} from '../policy-limits.ts'
import { readRuleBody } from '../rule-domain.ts'
import { ruleDomain } from '../../store/aggregates/policies/format-policy.ts'
import type { TeamNames } from './team-names.ts'
import { withinPolicy } from './within-policy.ts'

/** A parsed policy of a document, with known teams. It is compiled later, and only if changed. */
export interface WantedPolicy {
  /** Its field in the document, such as `policies[2]`. */
  readonly field: string
  readonly name: string
  /** Team ids; null when the document gives no scope. */
  readonly teams: readonly string[] | null
  readonly mode?: PolicyRecord['mode']
  readonly rules: readonly WantedRule[]
}

export type WantedRule = Omit<RuleRecord, 'id'>

export interface WantedDocument {
  readonly policies: readonly WantedPolicy[]
  readonly prune: boolean
  readonly dryRun: boolean
}

/**
 * A document is parsed in parts, each by its own schema, so that parsing ends at the first fault.
 * Rules are checked in the order of the single endpoints: domain, then members.
 */
const headSchema = z.strictObject({
  policies: z.array(z.unknown()),
  prune: z.boolean().optional(),
  dry_run: z.boolean().optional(),
})
/** Accepts unchecked documents. */
const looseSchema = z.object({
  policies: z.array(z.unknown()).optional(),
  prune: z.unknown().optional(),
})
const policyHeadSchema = documentPolicySchema.extend({ rules: z.array(z.unknown()) })

/** The state of an organization that a document is validated against. */
export interface DocumentContext {
  readonly limits: PolicyLimits
  readonly teamNames: TeamNames
  /** Stored policies: at least those that the document names. */
  readonly stored: readonly PolicyRecord[]
  /** Number of policies of the organization. */
  readonly count: number
}

/** Context of one policy; `old` finds the stored policy of the same name. */
interface PolicyContext extends Omit<DocumentContext, 'stored' | 'count'> {
  readonly old: (name: string) => PolicyRecord | undefined
}

/**
 * Parses the body of an apply request. Throws 400 with the position of the first fault as `field`,
 * or 403 at the first excess over a limit: parsing stops there, because it delays other requests.
 * Stored policies that exceed a limit may stay as large as they are.
 */
export async function readDocument(
  json: unknown,
  { stored, count, ...options }: DocumentContext,
  work: Pick<Work, 'turn'>,
): Promise<WantedDocument> {
  const head = readInput(headSchema, json)
  const byName = new Map(stored.map((policy) => [policy.name, policy]))
  const context = { ...options, old: (name: string) => byName.get(name) }
  const policies: WantedPolicy[] = []
  for (const [index, policy] of head.policies.entries()) {
    if (index >= count) requireRoomForPolicy(options.limits, index)
    const field = `policies[${index}]`
    policies.push(await withinFieldInTurns(field, () => readPolicy(policy, field, context, work)))
  }
  requireUnique('policies', policies)
  return { policies, prune: head.prune ?? false, dryRun: head.dry_run ?? false }
}

/** Tells whether an otherwise unchecked body asks for a dry run. */
export function asksForDryRun(json: unknown): boolean {
  return z.object({ dry_run: z.literal(true) }).safeParse(json).success
}

/** Returns a predicate for the names of stored policies that an unchecked document may affect. */
export function selectAffected(json: unknown): (name: string) => boolean {
  const { policies, prune } = looseSchema.safeParse(json).data ?? {}
  if (prune === true) return () => true
  const names = new Set<unknown>()
  for (const policy of policies ?? [])
    if (typeof policy === 'object' && policy !== null && 'name' in policy) names.add(policy.name)
  return (name) => names.has(name)
}

async function readPolicy(
  json: unknown,
  field: string,
  { teamNames, old, limits }: PolicyContext,
  work: Pick<Work, 'turn'>,
): Promise<WantedPolicy> {
  requireFewValues(json)
  const { name, scope, mode, rules: written } = readInput(policyHeadSchema, json)
  const teams = scope === undefined ? null : readTeams(scope.teams ?? [], teamNames)
  const requireWithinLimits = createLimitCheck(limits, name, old(name))
  const rules: WantedRule[] = []
  for (const [index, rule] of written.entries()) {
    const read = withinField(`rules[${index}]`, () => readRule(rule, rules))
    requireWithinLimits(read)
    rules.push(read)
    await work.turn()
  }
  requireUnique('rules', rules)
  return { field, name, teams, ...(mode === 'shadow' ? { mode } : {}), rules }
}

function readRule(json: unknown, before: readonly WantedRule[]): WantedRule {
  return readRuleBody(documentRuleSchema, json, ruleDomain(before))
}

/** Returns a check for the rules of one policy, in order. It throws 403 beyond a limit. */
function createLimitCheck(
  limits: PolicyLimits,
  name: string,
  old: PolicyRecord | undefined,
): (rule: WantedRule) => void {
  let [count, bytes] = [0, 0]
  let oldBytes: number | null = null
  return (rule) => {
    count += 1
    bytes += Buffer.byteLength(JSON.stringify(rule))
    withinPolicy(name, () => {
      if (count > (old?.rules.length ?? 0)) requireRuleCount(limits, count)
      if (bytes <= limits.maxPolicyBytes) return
      oldBytes ??= old === undefined ? 0 : policyBytes(old)
      if (bytes > oldBytes) requirePolicyBytes(limits, bytes)
    })
  }
}

/** Resolves names and ids to distinct team ids, in the given order. */
function readTeams(written: readonly string[], teamNames: TeamNames): readonly string[] {
  const ids = written.map((text, index) => {
    const id = teamNames.idOf(text)
    if (id !== null) return id
    throw invalidArgument(`team ${quote(text)} is not a team of this organization`, {
      field: `scope.teams[${index}]`,
    })
  })
  return [...new Set(ids)]
}

function requireUnique(
  list: 'policies' | 'rules',
  named: readonly { readonly name: string }[],
): void {
  const indices = new Map<string, number>()
  for (const [index, { name }] of named.entries()) {
    const first = indices.get(name)
    if (first !== undefined)
      throw invalidArgument(`${quote(name)} is already the name of \`${list}[${first}]\``, {
        field: `${list}[${index}].name`,
      })
    indices.set(name, index)
  }
}
