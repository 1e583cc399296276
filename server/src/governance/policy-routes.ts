import {
  createPolicyRequestSchema,
  deletePolicyResponseSchema,
  listPoliciesResponseSchema,
  pageQuerySchema,
  policySchema,
  updatePolicyRequestSchema,
  updatePolicyResponseSchema,
} from '@palisade/protocol'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { sendAnswer } from '../http/answer.ts'
import { policyBody } from './body-admission.ts'
import { callOf, type GovernanceRouteDeps } from './governance-call.ts'
import { getPolicy, listPolicies } from './policy-reads.ts'
import { createPolicy, deletePolicy, updatePolicy } from './policy-writes.ts'
import {
  deleteErrors,
  getHeadersSchema,
  ifMatchSchema,
  orgParamsSchema,
  policyParamsSchema,
  postHeadersSchema,
  readErrors,
  writeErrors,
  type OrgParams,
  type PolicyParams,
} from './route-schemas.ts'

const LIST = '/v2/orgs/:org/governance/policies'
const ONE = `${LIST}/:policy_id`
const tags = ['policies']

/** Endpoints 1 to 5 of the governance API. */
export function registerPolicyRoutes(app: FastifyInstance, deps: GovernanceRouteDeps): void {
  app.get<{ Params: OrgParams }>(
    LIST,
    {
      schema: {
        operationId: 'listPolicies',
        tags,
        summary: 'Policies of the organization, by ascending id and without their rules',
        params: orgParamsSchema,
        querystring: pageQuerySchema,
        response: { 200: listPoliciesResponseSchema, ...readErrors },
      },
    },
    async (request, reply) => sendAnswer(reply, await listPolicies(deps, callOf(deps, request))),
  )

  app.post<{ Params: OrgParams }>(
    LIST,
    {
      ...policyBody(deps),
      schema: {
        operationId: 'createPolicy',
        tags,
        summary: 'Create a policy without rules',
        params: orgParamsSchema,
        headers: postHeadersSchema,
        body: createPolicyRequestSchema,
        response: { 201: policySchema, ...writeErrors },
      },
    },
    async (request, reply) => sendAnswer(reply, await createPolicy(deps, callOf(deps, request))),
  )

  app.get<{ Params: PolicyParams }>(
    ONE,
    {
      schema: {
        operationId: 'getPolicy',
        tags,
        summary: 'A policy with its rules',
        params: policyParamsSchema,
        headers: getHeadersSchema,
        response: {
          200: policySchema,
          304: z.null().describe('The caller has this policy'),
          ...deleteErrors,
        },
      },
    },
    async (request, reply) => {
      const policyId = request.params.policy_id
      return sendAnswer(reply, await getPolicy(deps, { ...callOf(deps, request), policyId }))
    },
  )

  app.patch<{ Params: PolicyParams }>(
    ONE,
    {
      ...policyBody(deps),
      schema: {
        operationId: 'updatePolicy',
        tags,
        summary: 'Change name or scope of a policy',
        params: policyParamsSchema,
        headers: ifMatchSchema,
        body: updatePolicyRequestSchema,
        response: { 200: updatePolicyResponseSchema, ...writeErrors },
      },
    },
    async (request, reply) => {
      const policyId = request.params.policy_id
      return sendAnswer(reply, await updatePolicy(deps, { ...callOf(deps, request), policyId }))
    },
  )

  app.delete<{ Params: PolicyParams }>(
    ONE,
    {
      schema: {
        operationId: 'deletePolicy',
        tags,
        summary: 'Delete a policy with its rules',
        params: policyParamsSchema,
        headers: ifMatchSchema,
        response: { 200: deletePolicyResponseSchema, ...deleteErrors },
      },
    },
    async (request, reply) => {
      const policyId = request.params.policy_id
      return sendAnswer(reply, await deletePolicy(deps, { ...callOf(deps, request), policyId }))
    },
  )
}
