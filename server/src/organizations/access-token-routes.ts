import {
  createAccessTokenRequestSchema,
  createdAccessTokenSchema,
  listAccessTokensResponseSchema,
  pageQuerySchema,
} from '@palisade/protocol'
import { z } from 'zod'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import {
  requireOrganizationToken,
  requireWithin,
  type AccessTokenService,
} from './access-token-service.ts'

const ORGANIZATION_TOKENS = '/api/v1/orgs/:org/access-tokens'
const PERSONAL_TOKENS = '/api/v1/user/access-tokens'
const tags = ['tokens']
const permission = 'organization:admin'

/** `/api/v1/orgs/:org/access-tokens` and `/api/v1/user/access-tokens` */
export function accessTokenRoutes(tokens: AccessTokenService): Route[] {
  return [...organizationTokenRoutes(tokens), ...personalTokenRoutes(tokens)]
}

function organizationTokenRoutes(tokens: AccessTokenService): Route[] {
  return [
    defineRoute(
      {
        method: 'GET',
        path: ORGANIZATION_TOKENS,
        operationId: 'listOrganizationTokens',
        tags,
        summary: 'List the access tokens of an organization, by creation',
        permission,
        query: pageQuerySchema,
        answers: { 200: listAccessTokensResponseSchema },
      },
      async ({ caller, params, query }) => tokens.listOfOrganization(caller, params.org, query),
    ),
    defineRoute(
      {
        method: 'POST',
        path: ORGANIZATION_TOKENS,
        operationId: 'createOrganizationToken',
        tags,
        summary: 'Create an access token of an organization; its secret is shown once',
        permission,
        body: createAccessTokenRequestSchema,
        once: 'secret',
        answers: { 201: createdAccessTokenSchema },
      },
      async ({ caller, params, body, once, send }) =>
        send(await tokens.createForOrganization(caller, params.org, body, once())),
    ),
    defineRoute(
      {
        method: 'DELETE',
        path: `${ORGANIZATION_TOKENS}/:token`,
        operationId: 'revokeOrganizationToken',
        tags,
        summary: 'Revoke an access token of an organization and all tokens created with it',
        permission,
        lookUp: (reader, { org, token }) => requireOrganizationToken(reader, org, token),
        answers: { 204: z.null() },
      },
      async ({ caller, params: { org, token } }) => tokens.revokeOfOrganization(caller, org, token),
    ),
  ]
}

function personalTokenRoutes(tokens: AccessTokenService): Route[] {
  return [
    defineRoute(
      {
        method: 'GET',
        path: PERSONAL_TOKENS,
        operationId: 'listPersonalTokens',
        tags,
        summary: 'List your personal tokens within the permissions of your credential',
        callers: 'people',
        query: pageQuerySchema,
        answers: { 200: listAccessTokensResponseSchema },
      },
      async ({ caller, query }) => tokens.listPersonal(caller, query),
    ),
    defineRoute(
      {
        method: 'POST',
        path: PERSONAL_TOKENS,
        operationId: 'createPersonalToken',
        tags,
        summary: 'Create a personal token; its secret is shown once',
        callers: 'people',
        body: createAccessTokenRequestSchema,
        once: 'secret',
        answers: { 201: createdAccessTokenSchema },
      },
      async ({ caller, body, once, send }) =>
        send(await tokens.createPersonal(caller, body, once())),
    ),
    defineRoute(
      {
        method: 'DELETE',
        path: `${PERSONAL_TOKENS}/:token`,
        operationId: 'revokePersonalToken',
        tags,
        summary: 'Revoke one of your personal tokens and all tokens created with it',
        callers: 'people',
        lookUp: (reader, { token }, user) => requireWithin(reader, user, token),
        answers: { 204: z.null() },
        errors: [404],
      },
      async ({ caller, params }) => tokens.revokePersonal(caller, params.token),
    ),
  ]
}
