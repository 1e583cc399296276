import { applyRequestSchema, applyResponseSchema, exportResponseSchema } from '@palisade/protocol'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { documentBody } from '../body-admission.ts'
import { callOf, type GovernanceRouteDeps } from '../governance-call.ts'
import {
  getHeadersSchema,
  orgParamsSchema,
  postHeadersSchema,
  deleteErrors,
  largeReadErrors,
  applyErrors,
  type OrgParams,
} from '../route-schemas.ts'
import { applyDocument, type DocumentDeps } from './apply-document.ts'
import { exportDocument } from './export-document.ts'

const tags = ['policies']
const applyHeadersSchema = postHeadersSchema.extend({
  'if-match': z.string().optional().meta({
    description: "Entity tag of the organization's revision, as `export` and a dry run give it",
  }),
})

/** All policies of an organization at once. */
export function registerDocumentRoutes(
  app: FastifyInstance,
  deps: GovernanceRouteDeps & DocumentDeps,
): void {
  app.post<{ Params: OrgParams }>(
    '/api/v1/orgs/:org/apply',
    {
      ...documentBody(deps),
      schema: {
        operationId: 'applyPolicies',
        tags,
        summary: 'Make the organization have the policies of a document, all or nothing',
        params: orgParamsSchema,
        headers: applyHeadersSchema,
        body: applyRequestSchema,
        response: { 200: applyResponseSchema, ...applyErrors },
      },
    },
    async (request, reply) => {
      const call = callOf(deps, request)
      return deps.beingSent.send(reply, call.org, await applyDocument(deps, call))
    },
  )

  app.get<{ Params: OrgParams }>(
    '/api/v1/orgs/:org/export',
    {
      schema: {
        operationId: 'exportPolicies',
        tags,
        summary: 'All policies of one revision, as a document that can be applied',
        params: orgParamsSchema,
        headers: getHeadersSchema,
        response: {
          200: exportResponseSchema,
          304: z.null().describe('The caller has this revision'),
          ...deleteErrors,
          ...largeReadErrors,
        },
      },
    },
    async (request, reply) => {
      const call = callOf(deps, request)
      return deps.beingSent.send(reply, call.org, await exportDocument(deps, call))
    },
  )
}
