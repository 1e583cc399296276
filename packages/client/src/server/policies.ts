import {
  deletePolicyResponseSchema,
  deleteRuleResponseSchema,
  detailedPolicySchema,
  createdDetailedRuleSchema,
  listDetailedPoliciesResponseSchema,
  updateDetailedPolicyResponseSchema,
  updateDetailedRuleResponseSchema,
  type CreateDetailedPolicyRequest,
  type CreateDetailedRuleRequest,
  type DetailedPolicy,
  type DetailedPolicySummary,
  type CreatedDetailedRule,
  type DetailedRule,
  type PolicyBody,
  type RuleBody,
  type UpdateDetailedPolicyRequest,
  type UpdateDetailedRuleRequest,
} from '@palisade/protocol'
import type { Call } from './call.ts'
import { listPages } from './list-pages.ts'
import { apiPath } from './server-url.ts'

/** A resource before and after a change. */
export interface Changed<T> {
  readonly old: T
  readonly new: T
}

/** Policies of one organization with their modes. Every method throws `ClientError`. */
export interface PoliciesClient {
  /** All policies by ascending id, fetched page by page as they are read. */
  list(options?: { readonly pageSize?: number }): AsyncIterable<DetailedPolicySummary>
  get(policyId: string): Promise<DetailedPolicy>
  create(body: CreateDetailedPolicyRequest): Promise<DetailedPolicy>
  update(policyId: string, body: UpdateDetailedPolicyRequest): Promise<Changed<DetailedPolicy>>
  /** Resolves to the deleted policy, as the governance API shows it. */
  delete(policyId: string): Promise<PolicyBody>
}

/** Rules of one organization's policies, with their expiry. */
export interface RulesClient {
  add(policyId: string, body: CreateDetailedRuleRequest): Promise<CreatedDetailedRule>
  update(
    policyId: string,
    ruleId: string,
    body: UpdateDetailedRuleRequest,
  ): Promise<Changed<DetailedRule>>
  /** Resolves to the deleted rule, as the governance API shows it. */
  delete(policyId: string, ruleId: string): Promise<RuleBody>
}

/** `newKey` creates an idempotency key, so that a create can be repeated after a lost answer. */
export function createPoliciesClient(
  call: Call,
  org: string,
  newKey: () => string,
): PoliciesClient {
  const root = detailedPath(org)
  return {
    list: ({ pageSize } = {}) =>
      listPages(call, {
        path: root,
        page: listDetailedPoliciesResponseSchema,
        query: { page_size: pageSize?.toString() },
      }),
    get: async (policyId) =>
      call({ method: 'GET', path: root + apiPath(policyId) }, detailedPolicySchema),
    create: async (body) =>
      call({ method: 'POST', path: root, body, headers: keyed(newKey) }, detailedPolicySchema),
    update: async (policyId, body) =>
      call(
        { method: 'PATCH', path: root + apiPath(policyId), body },
        updateDetailedPolicyResponseSchema,
      ),
    async delete(policyId) {
      const path = policiesPath(org) + apiPath(policyId)
      return (await call({ method: 'DELETE', path }, deletePolicyResponseSchema)).deleted
    },
  }
}

export function createRulesClient(call: Call, org: string, newKey: () => string): RulesClient {
  const rules = (policyId: string): string => detailedPath(org) + apiPath(policyId, 'rules')
  return {
    add: async (policyId, body) =>
      call(
        { method: 'POST', path: rules(policyId), body, headers: keyed(newKey) },
        createdDetailedRuleSchema,
      ),
    update: async (policyId, ruleId, body) =>
      call(
        { method: 'PATCH', path: rules(policyId) + apiPath(ruleId), body },
        updateDetailedRuleResponseSchema,
      ),
    async delete(policyId, ruleId) {
      const path = policiesPath(org) + apiPath(policyId, 'rules', ruleId)
      return (await call({ method: 'DELETE', path }, deleteRuleResponseSchema)).deleted
    },
  }
}

/** The governance API has no modes and no expiry. */
function detailedPath(org: string): string {
  return `/api/v1${apiPath('orgs', org, 'policies')}`
}

function policiesPath(org: string): string {
  return `/v2${apiPath('orgs', org, 'governance', 'policies')}`
}

function keyed(newKey: () => string): Record<string, string> {
  return { 'idempotency-key': newKey() }
}
