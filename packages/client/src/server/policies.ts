import {
  deletePolicyResponseSchema,
  deleteRuleResponseSchema,
  listPoliciesResponseSchema,
  policySchema,
  ruleSchema,
  updatePolicyResponseSchema,
  updateRuleResponseSchema,
  type CreatePolicyRequest,
  type CreateRuleRequest,
  type PolicyBody,
  type PolicySummary,
  type RuleBody,
  type UpdatePolicyRequest,
  type UpdateRuleRequest,
} from '@palisade/protocol'
import type { Call } from './call.ts'
import { listPages } from './list-pages.ts'
import { apiPath } from './server-url.ts'

/** A resource before and after a change. */
export interface Changed<T> {
  readonly old: T
  readonly new: T
}

/** Policies of one organization. Every method throws `ClientError`. */
export interface PoliciesClient {
  /** All policies by ascending id, fetched page by page as they are read. */
  list(options?: { readonly pageSize?: number }): AsyncIterable<PolicySummary>
  get(policyId: string): Promise<PolicyBody>
  create(body: CreatePolicyRequest): Promise<PolicyBody>
  update(policyId: string, body: UpdatePolicyRequest): Promise<Changed<PolicyBody>>
  /** Resolves to the deleted policy. */
  delete(policyId: string): Promise<PolicyBody>
}

/** Rules of one organization's policies. */
export interface RulesClient {
  add(policyId: string, body: CreateRuleRequest): Promise<RuleBody>
  update(policyId: string, ruleId: string, body: UpdateRuleRequest): Promise<Changed<RuleBody>>
  /** Resolves to the deleted rule. */
  delete(policyId: string, ruleId: string): Promise<RuleBody>
}

/** `newKey` creates an idempotency key, so that a create can be repeated after a lost answer. */
export function createPoliciesClient(
  call: Call,
  org: string,
  newKey: () => string,
): PoliciesClient {
  const root = policiesPath(org)
  return {
    list: ({ pageSize } = {}) =>
      listPages(call, {
        path: root,
        page: listPoliciesResponseSchema,
        query: { page_size: pageSize?.toString() },
      }),
    get: async (policyId) => call({ method: 'GET', path: root + apiPath(policyId) }, policySchema),
    create: async (body) =>
      call({ method: 'POST', path: root, body, headers: keyed(newKey) }, policySchema),
    update: async (policyId, body) =>
      call({ method: 'PATCH', path: root + apiPath(policyId), body }, updatePolicyResponseSchema),
    async delete(policyId) {
      const path = root + apiPath(policyId)
      return (await call({ method: 'DELETE', path }, deletePolicyResponseSchema)).deleted
    },
  }
}

export function createRulesClient(call: Call, org: string, newKey: () => string): RulesClient {
  const rules = (policyId: string): string => policiesPath(org) + apiPath(policyId, 'rules')
  return {
    add: async (policyId, body) =>
      call({ method: 'POST', path: rules(policyId), body, headers: keyed(newKey) }, ruleSchema),
    update: async (policyId, ruleId, body) =>
      call(
        { method: 'PATCH', path: rules(policyId) + apiPath(ruleId), body },
        updateRuleResponseSchema,
      ),
    async delete(policyId, ruleId) {
      const path = rules(policyId) + apiPath(ruleId)
      return (await call({ method: 'DELETE', path }, deleteRuleResponseSchema)).deleted
    },
  }
}

function policiesPath(org: string): string {
  return `/v2${apiPath('orgs', org, 'governance', 'policies')}`
}

function keyed(newKey: () => string): Record<string, string> {
  return { 'idempotency-key': newKey() }
}
