import {
  listUserOrganizationsResponseSchema,
  organizationSchema,
  pageQuerySchema,
  updateOrganizationRequestSchema,
} from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorResponses } from '../http/errors/error-responses.ts'
import type { Admission } from '../identity/admission.ts'
import type { OrganizationService } from './organization-service.ts'

const params = z.object({ org: z.string() })
const noQuery = z.strictObject({})

/** `/api/v1/orgs/:org` and `/api/v1/user/organizations` */
export function organizationRoutes(deps: {
  readonly admission: Admission
  readonly organizations: OrganizationService
}): FastifyPluginAsyncZod {
  const { admission, organizations } = deps
  return async (app) => {
    app.get(
      '/api/v1/orgs/:org',
      {
        onRequest: admission.organization(null),
        schema: {
          operationId: 'getOrganization',
          tags: ['organizations'],
          summary: 'An organization with its settings',
          params,
          querystring: noQuery,
          response: { 200: organizationSchema, ...errorResponses([400, 401, 404]) },
        },
      },
      async (request) => organizations.get(admission.callerOf(request), request.params.org),
    )

    app.patch(
      '/api/v1/orgs/:org',
      {
        onRequest: admission.organization('organization:admin'),
        schema: {
          operationId: 'updateOrganization',
          tags: ['organizations'],
          summary: 'Change the settings of an organization',
          params,
          querystring: noQuery,
          body: updateOrganizationRequestSchema,
          response: { 200: organizationSchema, ...errorResponses([400, 401, 403, 404, 413, 415]) },
        },
      },
      async (request) =>
        organizations.update(admission.callerOf(request), request.params.org, request.body),
    )

    app.get(
      '/api/v1/user/organizations',
      {
        onRequest: admission.person(),
        schema: {
          operationId: 'listUserOrganizations',
          tags: ['organizations'],
          summary: 'The organizations that you belong to, and what you may do in each',
          querystring: pageQuerySchema,
          response: {
            200: listUserOrganizationsResponseSchema,
            ...errorResponses([400, 401, 403]),
          },
        },
      },
      async (request) => organizations.listOfUser(admission.callerOf(request), request.query),
    )
  }
}
