import { applyRequestSchema, applyResponseSchema, exportResponseSchema } from '@palisade/protocol'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { authorize, requireEntitled } from '../../accounts/authorize.ts'
import { payerOf } from '../../accounts/payer.ts'
import { sendAnswer } from '../../http/answer.ts'
import { permissionDenied } from '../../http/api-error.ts'
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
/** 100 policies of 250 ordinary rules are 6 MiB. */
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024

/** All policies of an organization at once. */
export function registerDocumentRoutes(
  app: FastifyInstance,
  deps: GovernanceRouteDeps & DocumentDeps,
): void {
  app.post<{ Params: OrgParams }>(
    '/api/v1/orgs/:org/apply',
    {
      bodyLimit: MAX_DOCUMENT_BYTES,
      onRequest: (request: FastifyRequest) => requireAnyPolicyPermission(deps, request),
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
    async (request, reply) => sendAnswer(reply, await applyDocument(deps, callOf(deps, request))),
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

/** Before a body that may be large is read, and the budget asked; what it asks for decides which permission it needs. */
async function requireAnyPolicyPermission(
  deps: GovernanceRouteDeps,
  request: FastifyRequest,
): Promise<void> {
  const { org = '' } = request.params as Partial<OrgParams>
  const principal = deps.admission.callerOf(request)
  await deps.store.read(async (reader) => {
    const access = await authorize(reader, principal, org, null)
    const { permissions, organization } = access
    if (!permissions.includes('policies:read') && !permissions.includes('policies:write'))
      throw permissionDenied('this needs the permission `policies:write`')
    requireEntitled(organization)
    deps.budget.require(payerOf(principal, access))
  })
}
