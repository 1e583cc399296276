import { bundleSchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { createAdmission } from '../../accounts/admission.ts'
import type { Authenticate } from '../../accounts/authenticate.ts'
import { requireEntitled } from '../../accounts/authorize.ts'
import type { AuditedStore } from '../../history/audited-store.ts'
import { errorResponses } from '../../http/error-responses.ts'
import { requireDevice } from '../device-service.ts'
import type { ViewService } from './view-service.ts'

export interface BundleRouteDeps {
  readonly store: AuditedStore
  readonly authenticate: Authenticate
  readonly views: Pick<ViewService, 'bundle'>
}

/** `/api/v1/orgs/:org/devices/:device/bundle` */
export function bundleRoutes(deps: BundleRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const admission = createAdmission(deps)
    app.get(
      '/api/v1/orgs/:org/devices/:device/bundle',
      {
        onRequest: admission.organization('organization:admin', async (reader, params, caller) => {
          const { org = '', device = '' } = params
          requireDevice(await reader.devices.find(org, device))
          requireEntitled(caller.access.organization)
        }),
        schema: {
          operationId: 'getDeviceBundle',
          tags: ['devices'],
          summary: 'Fetch all that a device would fetch now, signed, to be carried there by hand',
          params: z.object({ org: z.string(), device: z.string() }),
          querystring: z.strictObject({}),
          response: { 200: bundleSchema, ...errorResponses([400, 401, 403, 404, 409]) },
        },
      },
      async (request, reply) => {
        const { org, device } = request.params
        const bundle = await deps.views.bundle(org, device)
        return reply.header('cache-control', 'no-store').send(bundle)
      },
    )
  }
}
