import {
  createAccessTokenRequestSchema,
  createdAccessTokenSchema,
  listAccessTokensResponseSchema,
  pageQuerySchema,
} from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { sendAnswer } from '../http/answer.ts'
import { errorResponses } from '../http/errors/error-responses.ts'
import { idempotencyKeySchema, onceOf } from '../identity/idempotency/idempotent-post.ts'
import {
  requireOrganizationToken,
  requireWithin,
  type AccessTokenService,
} from './access-token-service.ts'
import type { Admission } from '../identity/admission.ts'

export interface AccessTokenRouteDeps {
  readonly admission: Admission
  readonly tokens: AccessTokenService
}

const noQuery = z.strictObject({})

/** `/api/v1/orgs/:org/access-tokens` and `/api/v1/user/access-tokens` */
export function accessTokenRoutes(deps: AccessTokenRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    await app.register(organizationTokenRoutes(deps))
    await app.register(personalTokenRoutes(deps))
  }
}

function organizationTokenRoutes({
  admission,
  tokens,
}: AccessTokenRouteDeps): FastifyPluginAsyncZod {
  const onRequest = admission.organization('organization:admin')
  const onTokenRequest = admission.organization('organization:admin', async (reader, params) => {
    const { org = '', token = '' } = params
    await requireOrganizationToken(reader, org, token)
  })
  const params = z.object({ org: z.string() })
  return async (app) => {
    app.get(
      '/api/v1/orgs/:org/access-tokens',
      {
        onRequest,
        schema: {
          operationId: 'listOrganizationTokens',
          tags: ['tokens'],
          summary: 'List the access tokens of an organization, by creation',
          params,
          querystring: pageQuerySchema,
          response: {
            200: listAccessTokensResponseSchema,
            ...errorResponses([400, 401, 403, 404]),
          },
        },
      },
      async (request) =>
        tokens.listOfOrganization(admission.callerOf(request), request.params.org, request.query),
    )

    app.post(
      '/api/v1/orgs/:org/access-tokens',
      {
        onRequest,
        schema: {
          operationId: 'createOrganizationToken',
          tags: ['tokens'],
          summary: 'Create an access token of an organization; its secret is shown once',
          params,
          headers: idempotencyKeySchema,
          querystring: noQuery,
          body: createAccessTokenRequestSchema,
          response: {
            201: createdAccessTokenSchema,
            ...errorResponses([400, 401, 403, 404, 409, 413, 415]),
          },
        },
      },
      async (request, reply) => {
        const caller = admission.callerOf(request)
        const { org } = request.params
        const once = onceOf(admission, request, { hasSecret: true })
        const answer = await tokens.createForOrganization(caller, org, request.body, once)
        return sendAnswer(reply, answer)
      },
    )

    app.delete(
      '/api/v1/orgs/:org/access-tokens/:token',
      {
        onRequest: onTokenRequest,
        schema: {
          operationId: 'revokeOrganizationToken',
          tags: ['tokens'],
          summary: 'Revoke an access token of an organization, with every token made from it',
          params: params.extend({ token: z.string() }),
          querystring: noQuery,
          response: { 204: z.null(), ...errorResponses([400, 401, 403, 404]) },
        },
      },
      async (request, reply) => {
        const { org, token } = request.params
        await tokens.revokeOfOrganization(admission.callerOf(request), org, token)
        return reply.code(204).send(null)
      },
    )
  }
}

function personalTokenRoutes({ admission, tokens }: AccessTokenRouteDeps): FastifyPluginAsyncZod {
  const onRequest = admission.person()
  const onTokenRequest = admission.person((reader, { token = '' }, user) =>
    requireWithin(reader, user, token),
  )
  return async (app) => {
    app.get(
      '/api/v1/user/access-tokens',
      {
        onRequest,
        schema: {
          operationId: 'listPersonalTokens',
          tags: ['tokens'],
          summary: 'List your personal tokens, those that may do no more than your credential',
          querystring: pageQuerySchema,
          response: { 200: listAccessTokensResponseSchema, ...errorResponses([400, 401, 403]) },
        },
      },
      async (request) => tokens.listPersonal(admission.callerOf(request), request.query),
    )

    app.post(
      '/api/v1/user/access-tokens',
      {
        onRequest,
        schema: {
          operationId: 'createPersonalToken',
          tags: ['tokens'],
          summary: 'Create a personal token; its secret is shown once',
          headers: idempotencyKeySchema,
          querystring: noQuery,
          body: createAccessTokenRequestSchema,
          response: {
            201: createdAccessTokenSchema,
            ...errorResponses([400, 401, 403, 409, 413, 415]),
          },
        },
      },
      async (request, reply) => {
        const caller = admission.callerOf(request)
        const once = onceOf(admission, request, { hasSecret: true })
        return sendAnswer(reply, await tokens.createPersonal(caller, request.body, once))
      },
    )

    app.delete(
      '/api/v1/user/access-tokens/:token',
      {
        onRequest: onTokenRequest,
        schema: {
          operationId: 'revokePersonalToken',
          tags: ['tokens'],
          summary: 'Revoke one of your personal tokens, with every token made from it',
          params: z.object({ token: z.string() }),
          querystring: noQuery,
          response: { 204: z.null(), ...errorResponses([400, 401, 403, 404]) },
        },
      },
      async (request, reply) => {
        await tokens.revokePersonal(admission.callerOf(request), request.params.token)
        return reply.code(204).send(null)
      },
    )
  }
}
