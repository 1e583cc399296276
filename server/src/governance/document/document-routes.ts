import { applyRequestSchema, applyResponseSchema, exportResponseSchema } from '@palisade/protocol'
import { z } from 'zod'
import { MAX_LARGE_BODY_BYTES } from '../../http/body/raw-body.ts'
import { requireEntitled } from '../../identity/authorize.ts'
import { payerOf } from '../../identity/payer.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import { permissionDenied } from '../../platform/api-error.ts'
import { callOf, type GovernanceRouteDeps } from '../governance-call.ts'
import { getHeadersSchema } from '../route-headers.ts'
import { applyDocument } from './apply-document.ts'
import { exportDocument } from './export-document.ts'

const tags = ['policies']

/** Endpoints that apply and export all policies of an organization at once. */
export function documentRoutes(deps: GovernanceRouteDeps): Route[] {
  return [
    defineRoute(
      {
        method: 'POST',
        path: '/api/v1/orgs/:org/apply',
        operationId: 'applyPolicies',
        tags,
        summary: 'Apply a document of policies to the organization, all or nothing',
        // The changes of the document decide which permission it needs.
        permission: null,
        lookUp(_reader, _params, { principal, access }) {
          const { permissions, organization } = access
          if (!permissions.includes('policies:read') && !permissions.includes('policies:write'))
            throw permissionDenied('this needs the permission `policies:write`')
          requireEntitled(organization)
          deps.budget.require(payerOf(principal, access))
        },
        headers: z.object({
          'if-match': z.string().optional().meta({
            description: "Entity tag of the organization's revision, from an export or a dry run",
          }),
        }),
        body: applyRequestSchema,
        bodyLimit: MAX_LARGE_BODY_BYTES,
        deferred: true,
        once: 'kept',
        answers: { 200: applyResponseSchema },
        errors: [403, 412, 429],
      },
      async (call) => {
        const answer = await applyDocument(deps, callOf(call))
        return deps.beingSent.send(call.reply, call.params.org, answer)
      },
    ),
    defineRoute(
      {
        method: 'GET',
        path: '/api/v1/orgs/:org/export',
        operationId: 'exportPolicies',
        tags,
        summary: 'All policies of one revision, as a document that can be applied',
        callers: 'signed_in',
        headers: getHeadersSchema,
        deferred: true,
        answers: {
          200: exportResponseSchema,
          304: z.null().describe('The caller has this revision'),
        },
        errors: [403, 404, 412, 429],
      },
      async (call) => {
        const answer = await exportDocument(deps, callOf(call))
        return deps.beingSent.send(call.reply, call.params.org, answer)
      },
    ),
  ]
}
