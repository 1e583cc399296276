import type { PathLoad } from '@palisade/policy-core'
import { authorize } from '../identity/authorize.ts'
import type { Answer } from '../http/answer.ts'
import { conflict } from '../platform/api-error.ts'
import { quote } from '../http/input/describe-issue.ts'
import { formatEntityTag, readEntityTags, requireMatch } from '../http/input/entity-tag.ts'
import { readQuery } from '../http/input/read-query.ts'
import type { PolicyRecord, RuleRecord } from '../store/records.ts'
import type { PolicyEdit } from '../store/aggregates/policies/policy-contract.ts'
import { formatDetailedRule, ruleDomain } from '../store/aggregates/policies/format-policy.ts'
import {
  noQuerySchema,
  type GovernanceDeps,
  type PolicyCall,
  type RuleCall,
} from './governance-call.ts'
import { answerOnce, readOnceRequest } from '../identity/idempotency/answer-once.ts'
import { createId } from './object-id.ts'
import { requirePolicySize, requireRuleCount } from './policy-limits.ts'
import { preloadPathLoads, requireRulePathCost } from './compilation/path-cost-limit.ts'
import { findPolicy, findRule } from './policy-lookup.ts'
import { requireCompilable, requireCompilableWith } from './compilation/require-compilable.ts'
import { keepFindings } from './checked-resources.ts'
import { readRuleInput, requireJsonOf, requireRuleOf } from './rule-input.ts'
import { nextTimestamp } from '../platform/timestamp.ts'
import { CONTRACT, operationOf, type WireForm } from './wire-form.ts'

/** The answer of a write, with the path load that the policy has by it. */
interface RuleAnswer extends Answer {
  /** Absent where the request wrote nothing. */
  readonly written?: { readonly policy: PolicyRecord; readonly pathLoad: PathLoad }
}

/** Appends a rule to a policy. */
export async function createRule(
  deps: GovernanceDeps,
  call: PolicyCall,
  form: WireForm = CONTRACT,
): Promise<Answer> {
  await preloadPathLoads(deps, call)
  const input = await readRuleInput(deps, form.createRule, call)
  const answer = await deps.store.write(call.author, async (writer): Promise<RuleAnswer> => {
    await authorize(writer, call.principal, call.org, 'policies:write')
    const policy = await findPolicy(writer, call.org, call.policyId)
    requireJsonOf(input)
    const once = readOnceRequest({
      key: call.idempotencyKey,
      principal: call.principal,
      operation: ['POST', call.org, policy.id, ...operationOf(form, 'rules')],
      body: call.body.bytes,
    })
    return answerOnce(writer, once, deps.now(), {
      async validate() {
        const body = requireRuleOf(input, ruleDomain(policy.rules))
        const rule: RuleRecord = { id: createId('rule', deps.now(), deps.random), ...body }
        keepFindings(deps.knownRules, rule, input.checked)
        requireCompilableWith(deps.knownRules, policy, rule)
        readQuery(noQuerySchema, call.query)
        return { rule, ifMatch: readEntityTags('If-Match', call.ifMatch) }
      },
      async act({ rule, ifMatch }): Promise<RuleAnswer> {
        requireMatch(ifMatch, formatEntityTag(policy.revision))
        requireRuleCount(deps.limits, policy.rules.length + 1)
        requirePolicySize(deps.limits, { ...policy, rules: [...policy.rules, rule] })
        requireFreeName(policy, rule)
        const pathLoad = await requireRulePathCost(deps, writer, { policy, rule })
        const changed = await writer.policies.insertRule(editOf(deps, policy), rule)
        const body = { ...form.formatRule(rule), ...form.adviseOn(rule) }
        const written = { policy: changed, pathLoad }
        return { status: 201, headers: etagOf(changed), body, written }
      },
    })
  })
  return keepPathLoad(deps, answer)
}

/** Changes a rule and keeps its position. A PATCH without an effective change does not write. */
export async function updateRule(
  deps: GovernanceDeps,
  call: RuleCall,
  form: WireForm = CONTRACT,
): Promise<Answer> {
  await preloadPathLoads(deps, call)
  const input = await readRuleInput(deps, form.updateRule, call, async (reader) => {
    const policy = await findPolicy(reader, call.org, call.policyId)
    return findRule(policy, call.ruleId).actions
  })
  const answer = await deps.store.write(call.author, async (writer): Promise<RuleAnswer> => {
    await authorize(writer, call.principal, call.org, 'policies:write')
    const policy = await findPolicy(writer, call.org, call.policyId)
    const old = findRule(policy, call.ruleId)
    requireJsonOf(input)
    // The domain includes the old rule's: even the only rule of a policy cannot change it.
    const patch = requireRuleOf(input, ruleDomain(policy.rules))
    const rule: RuleRecord = {
      id: old.id,
      name: patch.name ?? old.name,
      actions: patch.actions ?? old.actions,
      decision: patch.decision ?? old.decision,
      resources: patch.resources ?? old.resources,
      ...expiryOf(patch.expires_at === undefined ? old.expires_at : patch.expires_at),
    }
    keepFindings(deps.knownRules, rule, input.checked)
    const changed = withRule(policy, rule)
    requireCompilable(deps.knownRules, changed, rule, old)
    readQuery(noQuerySchema, call.query)
    requireMatch(readEntityTags('If-Match', call.ifMatch), formatEntityTag(policy.revision))

    if (isSameRule(old, rule)) return answerUpdate(form, policy, { old, new: old })
    requirePolicySize(deps.limits, changed)
    requireFreeName(policy, rule)
    const pathLoad = await requireRulePathCost(deps, writer, { policy, rule })
    const updated = await writer.policies.updateRule(editOf(deps, policy), rule)
    const written = { policy: updated, pathLoad }
    return { ...answerUpdate(form, updated, { old, new: rule }), written }
  })
  return keepPathLoad(deps, answer)
}

/** Deletes a rule. The policy stays, even without rules. */
export function deleteRule(deps: GovernanceDeps, call: RuleCall): Promise<Answer> {
  return deps.store.write(call.author, async (writer) => {
    await authorize(writer, call.principal, call.org, 'policies:write')
    const policy = await findPolicy(writer, call.org, call.policyId)
    const rule = findRule(policy, call.ruleId)
    readQuery(noQuerySchema, call.query)
    requireMatch(readEntityTags('If-Match', call.ifMatch), formatEntityTag(policy.revision))

    const written = await writer.policies.deleteRule(editOf(deps, policy), rule.id)
    return { status: 200, headers: etagOf(written), body: { deleted: CONTRACT.formatRule(rule) } }
  })
}

/** Caches the path load of the policy, which must be committed. */
function keepPathLoad({ pathLoads }: GovernanceDeps, answered: RuleAnswer): Answer {
  const { written, ...answer } = answered
  if (written !== undefined) pathLoads.keep(written.policy, written.pathLoad)
  return answer
}

/** Returns the policy with `rule` replacing the rule of the same id. */
function withRule(policy: PolicyRecord, rule: RuleRecord): PolicyRecord {
  return { ...policy, rules: policy.rules.map((other) => (other.id === rule.id ? rule : other)) }
}

function editOf(deps: GovernanceDeps, policy: PolicyRecord): PolicyEdit {
  const updated_at = nextTimestamp(policy.updated_at, deps.now())
  return { org: policy.org, policyId: policy.id, updated_at }
}

/**
 * The store refuses a duplicate name too. Its refusal rolls the statement back and discards the
 * cached records of the policy, so that all rules would be read and checked again after each one.
 */
function requireFreeName(policy: PolicyRecord, rule: RuleRecord): void {
  if (policy.rules.some(({ id, name }) => name === rule.name && id !== rule.id))
    throw conflict(`rule name ${quote(rule.name)} is already used in this policy`)
}

function answerUpdate(
  form: WireForm,
  policy: PolicyRecord,
  changed: { readonly old: RuleRecord; readonly new: RuleRecord },
): Answer {
  const rules = { old: form.formatRule(changed.old), new: form.formatRule(changed.new) }
  const body = { ...rules, ...form.adviseOn(changed.new) }
  return { status: 200, headers: etagOf(policy), body }
}

function expiryOf(expiresAt: string | null | undefined): Pick<RuleRecord, 'expires_at'> {
  return expiresAt === null || expiresAt === undefined ? {} : { expires_at: expiresAt }
}

function etagOf(policy: PolicyRecord): Record<string, string> {
  return { etag: formatEntityTag(policy.revision) }
}

function isSameRule(a: RuleRecord, b: RuleRecord): boolean {
  return JSON.stringify(formatDetailedRule(a)) === JSON.stringify(formatDetailedRule(b))
}
