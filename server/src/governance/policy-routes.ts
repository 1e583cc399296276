import {
  createPolicyRequestSchema,
  deletePolicyResponseSchema,
  listPoliciesResponseSchema,
  pageQuerySchema,
  policySchema,
  updatePolicyRequestSchema,
  updatePolicyResponseSchema,
} from '@palisade/protocol'
import { z } from 'zod'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import { callOf, MAX_POLICY_BODY_BYTES, type GovernanceRouteDeps } from './governance-call.ts'
import { getPolicy, listPolicies } from './policy-reads.ts'
import { createPolicy, deletePolicy, updatePolicy } from './policy-writes.ts'
import { getHeadersSchema, ifMatchSchema } from './route-headers.ts'

const POLICIES = '/v2/orgs/:org/governance/policies'
const POLICY = `${POLICIES}/:policy_id` as const
const tags = ['policies']

/** Endpoints 1 to 5 of the governance API. */
export function policyRoutes(deps: GovernanceRouteDeps): Route[] {
  return [
    defineRoute(
      {
        method: 'GET',
        path: POLICIES,
        operationId: 'listPolicies',
        tags,
        summary: 'Policies of the organization, by ascending id and without their rules',
        callers: 'signed_in',
        query: pageQuerySchema,
        deferred: true,
        answers: { 200: listPoliciesResponseSchema },
        errors: [403, 404],
      },
      async (call) => call.send(await listPolicies(deps, callOf(call))),
    ),
    defineRoute(
      {
        method: 'POST',
        path: POLICIES,
        operationId: 'createPolicy',
        tags,
        summary: 'Create a policy without rules',
        permission: 'policies:write',
        headers: ifMatchSchema,
        body: createPolicyRequestSchema,
        bodyLimit: MAX_POLICY_BODY_BYTES,
        deferred: true,
        once: 'kept',
        answers: { 201: policySchema },
        errors: [412],
      },
      async (call) => call.send(await createPolicy(deps, callOf(call))),
    ),
    defineRoute(
      {
        method: 'GET',
        path: POLICY,
        operationId: 'getPolicy',
        tags,
        summary: 'A policy with its rules',
        callers: 'signed_in',
        headers: getHeadersSchema,
        deferred: true,
        answers: { 200: policySchema, 304: z.null().describe('The caller has this policy') },
        errors: [403, 404, 412],
      },
      async (call) =>
        call.send(await getPolicy(deps, { ...callOf(call), policyId: call.params.policy_id })),
    ),
    defineRoute(
      {
        method: 'PATCH',
        path: POLICY,
        operationId: 'updatePolicy',
        tags,
        summary: 'Change name or scope of a policy',
        permission: 'policies:write',
        headers: ifMatchSchema,
        body: updatePolicyRequestSchema,
        bodyLimit: MAX_POLICY_BODY_BYTES,
        deferred: true,
        answers: { 200: updatePolicyResponseSchema },
        errors: [409, 412],
      },
      async (call) =>
        call.send(await updatePolicy(deps, { ...callOf(call), policyId: call.params.policy_id })),
    ),
    defineRoute(
      {
        method: 'DELETE',
        path: POLICY,
        operationId: 'deletePolicy',
        tags,
        summary: 'Delete a policy with its rules',
        callers: 'signed_in',
        headers: ifMatchSchema,
        deferred: true,
        answers: { 200: deletePolicyResponseSchema },
        errors: [403, 404, 412],
      },
      async (call) =>
        call.send(await deletePolicy(deps, { ...callOf(call), policyId: call.params.policy_id })),
    ),
  ]
}
