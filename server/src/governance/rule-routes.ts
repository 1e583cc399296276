import {
  createRuleRequestSchema,
  deleteRuleResponseSchema,
  ruleSchema,
  updateRuleRequestSchema,
  updateRuleResponseSchema,
} from '@palisade/protocol'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import { callOf, MAX_POLICY_BODY_BYTES, type GovernanceRouteDeps } from './governance-call.ts'
import { ifMatchSchema } from './route-headers.ts'
import { createRule, deleteRule, updateRule } from './rule-writes.ts'

const RULES = '/v2/orgs/:org/governance/policies/:policy_id/rules'
const RULE = `${RULES}/:rule_id` as const
const tags = ['rules']

/** Endpoints 6 to 8 of the governance API. */
export function ruleRoutes(deps: GovernanceRouteDeps): Route[] {
  return [
    defineRoute(
      {
        method: 'POST',
        path: RULES,
        operationId: 'createRule',
        tags,
        summary: 'Add a rule to a policy',
        permission: 'policies:write',
        headers: ifMatchSchema,
        body: createRuleRequestSchema,
        bodyLimit: MAX_POLICY_BODY_BYTES,
        deferred: true,
        once: 'kept',
        answers: { 201: ruleSchema },
        errors: [412],
      },
      async (call) =>
        call.send(await createRule(deps, { ...callOf(call), policyId: call.params.policy_id })),
    ),
    defineRoute(
      {
        method: 'PATCH',
        path: RULE,
        operationId: 'updateRule',
        tags,
        summary: 'Change a rule and keep its position',
        permission: 'policies:write',
        headers: ifMatchSchema,
        body: updateRuleRequestSchema,
        bodyLimit: MAX_POLICY_BODY_BYTES,
        deferred: true,
        answers: { 200: updateRuleResponseSchema },
        errors: [409, 412],
      },
      async (call) => {
        const { policy_id: policyId, rule_id: ruleId } = call.params
        return call.send(await updateRule(deps, { ...callOf(call), policyId, ruleId }))
      },
    ),
    defineRoute(
      {
        method: 'DELETE',
        path: RULE,
        operationId: 'deleteRule',
        tags,
        summary: 'Delete a rule; the policy stays',
        callers: 'signed_in',
        headers: ifMatchSchema,
        deferred: true,
        answers: { 200: deleteRuleResponseSchema },
        errors: [403, 404, 412],
      },
      async (call) => {
        const { policy_id: policyId, rule_id: ruleId } = call.params
        return call.send(await deleteRule(deps, { ...callOf(call), policyId, ruleId }))
      },
    ),
  ]
}
