import {
  checkRequestSchema,
  decisionSchema,
  effectivePolicyQuerySchema,
  effectivePolicyResponseSchema,
} from '@palisade/protocol'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import { callOf, type GovernanceRouteDeps } from './governance-call.ts'
import { checkAccess, getEffectivePolicy, requireMayAsk, type CheckDeps } from './what-if.ts'

const tags = ['what-if']

/** Decisions by the stored policies for a user, from the same evaluator as on machines. */
export function whatIfRoutes(deps: GovernanceRouteDeps, checks: CheckDeps): Route[] {
  return [
    defineRoute(
      {
        method: 'POST',
        path: '/api/v1/orgs/:org/check',
        operationId: 'checkAccess',
        tags,
        summary: 'The decision of a machine of a user, or of teams',
        permission: null,
        lookUp: (_reader, _params, { principal, access }) => requireMayAsk(principal, access),
        body: checkRequestSchema,
        deferred: true,
        answers: { 200: decisionSchema },
        errors: [403, 429],
      },
      async (call) => call.send(await checkAccess(deps, callOf(call), checks)),
    ),
    defineRoute(
      {
        method: 'GET',
        path: '/api/v1/orgs/:org/effective-policy',
        operationId: 'getEffectivePolicy',
        tags,
        summary: 'The policies that apply to a user',
        callers: 'signed_in',
        query: effectivePolicyQuerySchema,
        deferred: true,
        answers: { 200: effectivePolicyResponseSchema },
        errors: [403, 404, 429],
      },
      async (call) => {
        const answer = await getEffectivePolicy(deps, callOf(call))
        return deps.beingSent.send(call.reply, call.params.org, answer)
      },
    ),
  ]
}
