import {
  createEnrolmentTokenRequestSchema,
  createdEnrolmentTokenSchema,
  listEnrolmentTokensResponseSchema,
  pageQuerySchema,
} from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { createAdmission } from '../../identity/admission.ts'
import type { Authenticate } from '../../identity/authenticate.ts'
import { sendAnswer } from '../../http/answer.ts'
import { errorResponses } from '../../http/errors/error-responses.ts'
import { idempotencyKeySchema, onceOf } from '../../identity/idempotency/idempotent-post.ts'
import {
  createEnrolmentTokenService,
  requireEnrolmentToken,
  type EnrolmentTokenServiceDeps,
} from './enrolment-token-service.ts'

export interface EnrolmentTokenRouteDeps extends EnrolmentTokenServiceDeps {
  readonly authenticate: Authenticate
}

const noQuery = z.strictObject({})
const params = z.object({ org: z.string() })
const tokenParams = z.object({ org: z.string(), enrolment_token: z.string() })

/** `/api/v1/orgs/:org/enrolment-tokens` */
export function enrolmentTokenRoutes(deps: EnrolmentTokenRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const admission = createAdmission(deps)
    const tokens = createEnrolmentTokenService(deps)
    const onRequest = admission.organization('organization:admin')

    app.get(
      '/api/v1/orgs/:org/enrolment-tokens',
      {
        onRequest,
        schema: {
          operationId: 'listEnrolmentTokens',
          tags: ['devices'],
          summary: 'List what machines may enrol themselves with; without the secrets',
          params,
          querystring: pageQuerySchema,
          response: {
            200: listEnrolmentTokensResponseSchema,
            ...errorResponses([400, 401, 403, 404]),
          },
        },
      },
      async (request) =>
        tokens.list(admission.callerOf(request), request.params.org, request.query),
    )

    app.post(
      '/api/v1/orgs/:org/enrolment-tokens',
      {
        onRequest,
        schema: {
          operationId: 'createEnrolmentToken',
          tags: ['devices'],
          summary: 'Create a token that machines enrol themselves with; its secret is shown once',
          params,
          headers: idempotencyKeySchema,
          querystring: noQuery,
          body: createEnrolmentTokenRequestSchema,
          response: {
            201: createdEnrolmentTokenSchema,
            ...errorResponses([400, 401, 403, 404, 409, 413, 415]),
          },
        },
      },
      async (request, reply) => {
        const caller = admission.callerOf(request)
        const once = onceOf(admission, request, { hasSecret: true })
        const answer = await tokens.create(caller, request.params.org, request.body, once)
        return sendAnswer(reply, answer)
      },
    )

    app.delete(
      '/api/v1/orgs/:org/enrolment-tokens/:enrolment_token',
      {
        onRequest: admission.organization('organization:admin', async (reader, from) => {
          const { org = '', enrolment_token = '' } = from
          await requireEnrolmentToken(reader, org, enrolment_token)
        }),
        schema: {
          operationId: 'revokeEnrolmentToken',
          tags: ['devices'],
          summary: 'Revoke an enrolment token; devices that were enrolled with it stay',
          params: tokenParams,
          querystring: noQuery,
          response: { 204: z.null(), ...errorResponses([400, 401, 403, 404]) },
        },
      },
      async (request, reply) => {
        const { org, enrolment_token } = request.params
        await tokens.revoke(admission.callerOf(request), org, enrolment_token)
        return reply.code(204).send(null)
      },
    )
  }
}
