import {
  advanceRolloutRequestSchema,
  listRolloutsResponseSchema,
  pageQuerySchema,
  resumeRolloutRequestSchema,
  rollBackResponseSchema,
  rolloutSchema,
  rolloutStatusSchema,
  startRolloutRequestSchema,
} from '@palisade/protocol'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { createAdmission } from '../../identity/admission.ts'
import type { Authenticate } from '../../identity/authenticate.ts'
import { createKnownRules } from '../../governance/known-rules.ts'
import { sendAnswer } from '../../http/answer.ts'
import { errorResponses } from '../../http/errors/error-responses.ts'
import { idempotencyKeySchema, onceOf } from '../../identity/idempotency/idempotent-post.ts'
import { requireRollout } from './require-rollout.ts'
import { createRolloutService, type RolloutServiceDeps } from './rollout-service.ts'

export interface RolloutRouteDeps extends Omit<RolloutServiceDeps, 'knownRules'> {
  readonly authenticate: Authenticate
}

const LIST = '/api/v1/orgs/:org/rollouts'
const ONE = `${LIST}/:rollout`
const tags = ['rollouts']
const querystring = z.strictObject({})
const listParams = z.object({ org: z.string() })
const params = listParams.extend({ rollout: z.string() })
const headers = idempotencyKeySchema
const readErrors = errorResponses([400, 401, 403, 404])
const postErrors = errorResponses([400, 401, 403, 404, 409, 413, 415])
/** Of a POST without a body. */
const againErrors = errorResponses([400, 401, 403, 404, 409])

/** `/api/v1/orgs/:org/rollouts` */
export function rolloutRoutes(deps: RolloutRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const admission = createAdmission(deps)
    const rollouts = createRolloutService({ ...deps, knownRules: createKnownRules() })
    const ofRollout = (permission: 'policies:read' | 'policies:write') =>
      admission.organization(permission, async (reader, names) => {
        await requireRollout(reader, names['org'] ?? '', names['rollout'] ?? '')
      })
    const placeOf = ({ params: { org, rollout: id } }: RolloutRequest) => ({ org, id })

    app.get(
      LIST,
      {
        onRequest: admission.organization('policies:read'),
        schema: {
          operationId: 'listRollouts',
          tags,
          summary: 'List the rollouts of an organization, the newest first',
          params: listParams,
          querystring: pageQuerySchema,
          response: { 200: listRolloutsResponseSchema, ...readErrors },
        },
      },
      async (request) =>
        rollouts.list(admission.callerOf(request), request.params.org, request.query),
    )

    app.post(
      LIST,
      {
        onRequest: admission.organization('policies:write'),
        schema: {
          operationId: 'startRollout',
          tags,
          summary: 'Let changes of policies reach machines in stages, from now on',
          params: listParams,
          headers,
          querystring,
          body: startRolloutRequestSchema,
          response: { 201: rolloutSchema, ...postErrors, ...errorResponses([429]) },
        },
      },
      async (request, reply) => {
        const caller = admission.callerOf(request)
        const once = onceOf(admission, request)
        const { org } = request.params
        return sendAnswer(reply, await rollouts.start(caller, org, request.body, once))
      },
    )

    app.get(
      ONE,
      {
        onRequest: ofRollout('policies:read'),
        schema: {
          operationId: 'getRollout',
          tags,
          summary: 'Show a rollout, and how the machines fare that it has reached',
          params,
          querystring,
          response: { 200: rolloutStatusSchema, ...readErrors, ...errorResponses([429]) },
        },
      },
      async (request) => rollouts.status(admission.callerOf(request), placeOf(request)),
    )

    app.post(
      `${ONE}/advance`,
      {
        onRequest: ofRollout('policies:write'),
        schema: {
          operationId: 'advanceRollout',
          tags,
          summary: 'Go on to a later stage; the machines that it adds get the policies as they are',
          params,
          headers,
          querystring,
          body: advanceRolloutRequestSchema,
          response: { 200: rolloutSchema, ...postErrors },
        },
      },
      async (request, reply) => {
        const caller = admission.callerOf(request)
        const once = onceOf(admission, request)
        return sendAnswer(
          reply,
          await rollouts.advance(caller, placeOf(request), request.body, once),
        )
      },
    )

    app.post(
      `${ONE}/resume`,
      {
        onRequest: ofRollout('policies:write'),
        schema: {
          operationId: 'resumeRollout',
          tags,
          summary: 'Go on after a pause; what machines refused before it counts no more',
          params,
          headers,
          querystring,
          body: resumeRolloutRequestSchema,
          response: { 200: rolloutSchema, ...postErrors },
        },
      },
      async (request, reply) => {
        const caller = admission.callerOf(request)
        const once = onceOf(admission, request)
        return sendAnswer(
          reply,
          await rollouts.resume(caller, placeOf(request), request.body, once),
        )
      },
    )

    for (const [action, operationId, summary] of [
      ['pause', 'pauseRollout', 'Stay at the stage that is reached, until it is resumed'],
      ['finish', 'finishRollout', 'End a rollout: every machine gets the policies as they are'],
    ] as const)
      app.post(
        `${ONE}/${action}`,
        {
          onRequest: ofRollout('policies:write'),
          schema: {
            operationId,
            tags,
            summary,
            params,
            headers,
            querystring,
            response: { 200: rolloutSchema, ...againErrors },
          },
        },
        async (request, reply) => {
          const caller = admission.callerOf(request)
          const once = onceOf(admission, request)
          return sendAnswer(reply, await rollouts[action](caller, placeOf(request), once))
        },
      )

    app.post(
      `${ONE}/roll-back`,
      {
        onRequest: ofRollout('policies:write'),
        schema: {
          operationId: 'rollBackRollout',
          tags,
          summary: 'End a rollout: its first policies become those of a new revision for everybody',
          params,
          headers: headers.extend({
            'if-match': z.string().optional().meta({
              description: "Entity tag of the organization's revision",
            }),
          }),
          querystring,
          response: { 200: rollBackResponseSchema, ...againErrors, ...errorResponses([412, 429]) },
        },
      },
      async (request, reply) => {
        const caller = admission.callerOf(request)
        const once = onceOf(admission, request)
        const at = { ...placeOf(request), ifMatch: request.headers['if-match'] }
        return sendAnswer(reply, await rollouts.rollBack(caller, at, once))
      },
    )
  }
}

type RolloutRequest = Pick<FastifyRequest<{ Params: z.infer<typeof params> }>, 'params'>
