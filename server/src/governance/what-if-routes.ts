import {
  checkRequestSchema,
  decisionSchema,
  effectivePolicyQuerySchema,
  effectivePolicyResponseSchema,
} from '@palisade/protocol'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sendAnswer } from '../http/answer.ts'
import { createCompiledPolicies } from './compiled-policies.ts'
import { createPolicyWorker } from './policy-worker-client.ts'
import { rememberHeads } from './remembered-heads.ts'
import { callOf, type GovernanceRouteDeps } from './governance-call.ts'
import { checkErrors, orgParamsSchema, largeReadErrors, type OrgParams } from './route-schemas.ts'
import { checkAccess, enter, getEffectivePolicy } from './what-if.ts'

const tags = ['what-if']

/** What the stored policies mean for a user, by the evaluator that machines use. */
export function registerWhatIfRoutes(app: FastifyInstance, deps: GovernanceRouteDeps): void {
  const worker = createPolicyWorker()
  const kept = { compiledPolicies: createCompiledPolicies({ worker }), readHeads: rememberHeads() }
  app.addHook('onClose', () => worker.close())
  app.post<{ Params: OrgParams }>(
    '/api/v1/orgs/:org/check',
    {
      onRequest: (request: FastifyRequest) => requireAsker(deps, request),
      schema: {
        operationId: 'checkAccess',
        tags,
        summary: 'What a machine of a user, or of teams, would decide',
        params: orgParamsSchema,
        body: checkRequestSchema,
        response: { 200: decisionSchema, ...checkErrors },
      },
    },
    async (request, reply) =>
      sendAnswer(reply, await checkAccess(deps, callOf(deps, request), kept)),
  )

  app.get<{ Params: OrgParams }>(
    '/api/v1/orgs/:org/effective-policy',
    {
      schema: {
        operationId: 'getEffectivePolicy',
        tags,
        summary: 'The policies that apply to a user',
        params: orgParamsSchema,
        querystring: effectivePolicyQuerySchema,
        response: { 200: effectivePolicyResponseSchema, ...largeReadErrors },
      },
    },
    async (request, reply) => {
      const call = callOf(deps, request)
      return deps.beingSent.send(reply, call.org, await getEffectivePolicy(deps, call))
    },
  )
}

/** Before the body is read. */
async function requireAsker(deps: GovernanceRouteDeps, request: FastifyRequest): Promise<void> {
  const { org = '' } = request.params as Partial<OrgParams>
  const principal = deps.admission.principalOf(request)
  await deps.store.read((reader) => enter(reader, { principal, org }))
}
