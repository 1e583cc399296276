import {
  createDetailedPolicyRequestSchema,
  createDetailedRuleRequestSchema,
  detailedPolicySchema,
  createdDetailedRuleSchema,
  listDetailedPoliciesResponseSchema,
  pageQuerySchema,
  updateDetailedPolicyRequestSchema,
  updateDetailedPolicyResponseSchema,
  updateDetailedRuleRequestSchema,
  updateDetailedRuleResponseSchema,
} from '@palisade/protocol'
import { z } from 'zod'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import { callOf, MAX_POLICY_BODY_BYTES, type GovernanceRouteDeps } from './governance-call.ts'
import { getPolicy, listPolicies } from './policy-reads.ts'
import { createPolicy, updatePolicy } from './policy-writes.ts'
import { getHeadersSchema, ifMatchSchema } from './route-headers.ts'
import { createRule, updateRule } from './rule-writes.ts'
import { DETAILED } from './wire-form.ts'

const POLICIES = '/api/v1/orgs/:org/policies'
const POLICY = `${POLICIES}/:policy_id` as const
const RULES = `${POLICY}/rules` as const
const RULE = `${RULES}/:rule_id` as const

/**
 * Policies and rules with the members that the governance API does not have. Its endpoints delete
 * them.
 */
export function detailedPolicyRoutes(deps: GovernanceRouteDeps): Route[] {
  return [...policyRoutes(deps), ...ruleRoutes(deps)]
}

function policyRoutes(deps: GovernanceRouteDeps): Route[] {
  return [
    defineRoute(
      {
        method: 'GET',
        path: POLICIES,
        operationId: 'listDetailedPolicies',
        tags: ['policies'],
        summary: 'Policies of the organization with their modes, without their rules',
        callers: 'signed_in',
        query: pageQuerySchema,
        deferred: true,
        answers: { 200: listDetailedPoliciesResponseSchema },
        errors: [403, 404],
      },
      async (call) => call.send(await listPolicies(deps, callOf(call), DETAILED)),
    ),
    defineRoute(
      {
        method: 'POST',
        path: POLICIES,
        operationId: 'createDetailedPolicy',
        tags: ['policies'],
        summary: 'Create a policy without rules, also as a shadow',
        permission: 'policies:write',
        headers: ifMatchSchema,
        body: createDetailedPolicyRequestSchema,
        bodyLimit: MAX_POLICY_BODY_BYTES,
        deferred: true,
        once: 'kept',
        answers: { 201: detailedPolicySchema },
        errors: [412],
      },
      async (call) => call.send(await createPolicy(deps, callOf(call), DETAILED)),
    ),
    defineRoute(
      {
        method: 'GET',
        path: POLICY,
        operationId: 'getDetailedPolicy',
        tags: ['policies'],
        summary: 'A policy with its mode, and its rules with their expiry',
        callers: 'signed_in',
        headers: getHeadersSchema,
        deferred: true,
        answers: {
          200: detailedPolicySchema,
          304: z.null().describe('The caller has this policy'),
        },
        errors: [403, 404, 412],
      },
      async (call) => {
        const { policy_id: policyId } = call.params
        return call.send(await getPolicy(deps, { ...callOf(call), policyId }, DETAILED))
      },
    ),
    defineRoute(
      {
        method: 'PATCH',
        path: POLICY,
        operationId: 'updateDetailedPolicy',
        tags: ['policies'],
        summary: 'Change name, scope or mode of a policy',
        permission: 'policies:write',
        headers: ifMatchSchema,
        body: updateDetailedPolicyRequestSchema,
        bodyLimit: MAX_POLICY_BODY_BYTES,
        deferred: true,
        answers: { 200: updateDetailedPolicyResponseSchema },
        errors: [409, 412],
      },
      async (call) => {
        const { policy_id: policyId } = call.params
        return call.send(await updatePolicy(deps, { ...callOf(call), policyId }, DETAILED))
      },
    ),
  ]
}

function ruleRoutes(deps: GovernanceRouteDeps): Route[] {
  return [
    defineRoute(
      {
        method: 'POST',
        path: RULES,
        operationId: 'createDetailedRule',
        tags: ['rules'],
        summary: 'Add a rule to a policy, also one that expires',
        permission: 'policies:write',
        headers: ifMatchSchema,
        body: createDetailedRuleRequestSchema,
        bodyLimit: MAX_POLICY_BODY_BYTES,
        deferred: true,
        once: 'kept',
        answers: { 201: createdDetailedRuleSchema },
        errors: [412],
      },
      async (call) => {
        const { policy_id: policyId } = call.params
        return call.send(await createRule(deps, { ...callOf(call), policyId }, DETAILED))
      },
    ),
    defineRoute(
      {
        method: 'PATCH',
        path: RULE,
        operationId: 'updateDetailedRule',
        tags: ['rules'],
        summary: 'Change a rule or its expiry and keep its position',
        permission: 'policies:write',
        headers: ifMatchSchema,
        body: updateDetailedRuleRequestSchema,
        bodyLimit: MAX_POLICY_BODY_BYTES,
        deferred: true,
        answers: { 200: updateDetailedRuleResponseSchema },
        errors: [409, 412],
      },
      async (call) => {
        const { policy_id: policyId, rule_id: ruleId } = call.params
        return call.send(await updateRule(deps, { ...callOf(call), policyId, ruleId }, DETAILED))
      },
    ),
  ]
}
