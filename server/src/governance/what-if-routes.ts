import {
  checkRequestSchema,
  decisionSchema,
  effectivePolicyQuerySchema,
  effectivePolicyResponseSchema,
} from '@palisade/protocol'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sendAnswer } from '../http/answer.ts'
import { createCompiledPolicies } from './compilation/compiled-policies.ts'
import { createPolicyWorker } from './compilation/policy-worker-client.ts'
import { rememberHeads } from './remembered-heads.ts'
import { callOf, type GovernanceRouteDeps } from './governance-call.ts'
import { checkErrors, orgParamsSchema, largeReadErrors, type OrgParams } from './route-schemas.ts'
import { checkAccess, enter, getEffectivePolicy } from './what-if.ts'

const tags = ['what-if']
/** So long may a small set hold up `check` in all organizations, before it is compiled with the large. */
const SMALL_TIME_LIMIT_MS = 1_000

/** What the stored policies mean for a user, by the evaluator that machines use. */
export function registerWhatIfRoutes(app: FastifyInstance, deps: GovernanceRouteDeps): void {
  const workers = {
    small: createPolicyWorker({ timeLimitMs: SMALL_TIME_LIMIT_MS }),
    large: createPolicyWorker(),
  }
  const kept = { compiledPolicies: createCompiledPolicies({ workers }), readHeads: rememberHeads() }
  app.addHook('onClose', async () => {
    await workers.small.close()
    await workers.large.close()
  })
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
