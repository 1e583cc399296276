import {
  createRuleRequestSchema,
  deleteRuleResponseSchema,
  ruleSchema,
  updateRuleRequestSchema,
  updateRuleResponseSchema,
} from '@palisade/protocol'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sendAnswer } from '../http/answer.ts'
import { policyBody } from './body-admission.ts'
import { callOf, type GovernanceRouteDeps, type RuleCall } from './governance-call.ts'
import {
  deleteErrors,
  ifMatchSchema,
  policyParamsSchema,
  postHeadersSchema,
  ruleParamsSchema,
  writeErrors,
  type PolicyParams,
  type RuleParams,
} from './route-schemas.ts'
import { createRule, deleteRule, updateRule } from './rule-writes.ts'

const LIST = '/v2/orgs/:org/governance/policies/:policy_id/rules'
const ONE = `${LIST}/:rule_id`
const tags = ['rules']

/** Endpoints 6 to 8 of the governance API. */
export function registerRuleRoutes(app: FastifyInstance, deps: GovernanceRouteDeps): void {
  app.post<{ Params: PolicyParams }>(
    LIST,
    {
      ...policyBody(deps),
      schema: {
        operationId: 'createRule',
        tags,
        summary: 'Add a rule to a policy',
        params: policyParamsSchema,
        headers: postHeadersSchema,
        body: createRuleRequestSchema,
        response: { 201: ruleSchema, ...writeErrors },
      },
    },
    async (request, reply) => {
      const policyId = request.params.policy_id
      return sendAnswer(reply, await createRule(deps, { ...callOf(deps, request), policyId }))
    },
  )

  app.patch<{ Params: RuleParams }>(
    ONE,
    {
      ...policyBody(deps),
      schema: {
        operationId: 'updateRule',
        tags,
        summary: 'Change a rule in its place',
        params: ruleParamsSchema,
        headers: ifMatchSchema,
        body: updateRuleRequestSchema,
        response: { 200: updateRuleResponseSchema, ...writeErrors },
      },
    },
    async (request, reply) => sendAnswer(reply, await updateRule(deps, ruleCallOf(deps, request))),
  )

  app.delete<{ Params: RuleParams }>(
    ONE,
    {
      schema: {
        operationId: 'deleteRule',
        tags,
        summary: 'Delete a rule; the policy stays',
        params: ruleParamsSchema,
        headers: ifMatchSchema,
        response: { 200: deleteRuleResponseSchema, ...deleteErrors },
      },
    },
    async (request, reply) => sendAnswer(reply, await deleteRule(deps, ruleCallOf(deps, request))),
  )
}

function ruleCallOf(
  deps: GovernanceRouteDeps,
  request: FastifyRequest<{ Params: RuleParams }>,
): RuleCall {
  const { policy_id: policyId, rule_id: ruleId } = request.params
  return { ...callOf(deps, request), policyId, ruleId }
}
