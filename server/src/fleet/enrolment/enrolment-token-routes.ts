import {
  createEnrolmentTokenRequestSchema,
  createdEnrolmentTokenSchema,
  listEnrolmentTokensResponseSchema,
  pageQuerySchema,
} from '@palisade/protocol'
import { z } from 'zod'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import {
  createEnrolmentTokenService,
  requireEnrolmentToken,
  type EnrolmentTokenServiceDeps,
} from './enrolment-token-service.ts'

const TOKENS = '/api/v1/orgs/:org/enrolment-tokens'
const tags = ['devices']
const permission = 'organization:admin'

/** `/api/v1/orgs/:org/enrolment-tokens` */
export function enrolmentTokenRoutes(deps: EnrolmentTokenServiceDeps): Route[] {
  const tokens = createEnrolmentTokenService(deps)
  return [
    defineRoute(
      {
        method: 'GET',
        path: TOKENS,
        operationId: 'listEnrolmentTokens',
        tags,
        summary: 'List the enrolment tokens of an organization, without their secrets',
        permission,
        query: pageQuerySchema,
        answers: { 200: listEnrolmentTokensResponseSchema },
      },
      async ({ caller, params, query }) => tokens.list(caller, params.org, query),
    ),
    defineRoute(
      {
        method: 'POST',
        path: TOKENS,
        operationId: 'createEnrolmentToken',
        tags,
        summary: 'Create an enrolment token for machines; its secret is shown once',
        permission,
        body: createEnrolmentTokenRequestSchema,
        once: 'secret',
        answers: { 201: createdEnrolmentTokenSchema },
      },
      async ({ caller, params, body, once, send }) =>
        send(await tokens.create(caller, params.org, body, once())),
    ),
    defineRoute(
      {
        method: 'DELETE',
        path: `${TOKENS}/:enrolment_token`,
        operationId: 'revokeEnrolmentToken',
        tags,
        summary: 'Revoke an enrolment token; devices enrolled with it stay',
        permission,
        lookUp: (reader, { org, enrolment_token }) =>
          requireEnrolmentToken(reader, org, enrolment_token),
        answers: { 204: z.null() },
      },
      async ({ caller, params: { org, enrolment_token } }) =>
        tokens.revoke(caller, org, enrolment_token),
    ),
  ]
}
