import {
  listUserOrganizationsResponseSchema,
  organizationSchema,
  pageQuerySchema,
  updateOrganizationRequestSchema,
} from '@palisade/protocol'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import type { OrganizationService } from './organization-service.ts'

const ORGANIZATION = '/api/v1/orgs/:org'
const tags = ['organizations']

/** `/api/v1/orgs/:org` and `/api/v1/user/organizations` */
export function organizationRoutes(organizations: OrganizationService): Route[] {
  return [
    defineRoute(
      {
        method: 'GET',
        path: ORGANIZATION,
        operationId: 'getOrganization',
        tags,
        summary: 'Get an organization with its settings',
        permission: null,
        answers: { 200: organizationSchema },
      },
      async ({ caller, params }) => organizations.get(caller, params.org),
    ),
    defineRoute(
      {
        method: 'PATCH',
        path: ORGANIZATION,
        operationId: 'updateOrganization',
        tags,
        summary: 'Change the settings of an organization',
        permission: 'organization:admin',
        body: updateOrganizationRequestSchema,
        answers: { 200: organizationSchema },
      },
      async ({ caller, params, body }) => organizations.update(caller, params.org, body),
    ),
    defineRoute(
      {
        method: 'GET',
        path: '/api/v1/user/organizations',
        operationId: 'listUserOrganizations',
        tags,
        summary: 'List your organizations with your permissions in each',
        callers: 'people',
        query: pageQuerySchema,
        answers: { 200: listUserOrganizationsResponseSchema },
      },
      async ({ caller, query }) => organizations.listOfUser(caller, query),
    ),
  ]
}
