import { enrolDeviceRequestSchema, enrolmentSchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { createAdmission } from '../accounts/admission.ts'
import type { Authenticate } from '../accounts/authenticate.ts'
import { errorResponses } from '../http/error-responses.ts'
import { createDeviceService, type DeviceServiceDeps } from './device-service.ts'

export interface DeviceRouteDeps extends DeviceServiceDeps {
  readonly authenticate: Authenticate
}

/** `POST /api/v1/orgs/:org/devices` */
export function deviceRoutes(deps: DeviceRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const admission = createAdmission(deps)
    const devices = createDeviceService(deps)

    app.post(
      '/api/v1/orgs/:org/devices',
      {
        onRequest: admission.organization(null),
        schema: {
          operationId: 'enrolDevice',
          tags: ['devices'],
          summary: 'Enrol a device; the answer is its token file',
          params: z.object({ org: z.string() }),
          querystring: z.strictObject({}),
          body: enrolDeviceRequestSchema,
          response: {
            201: enrolmentSchema,
            ...errorResponses([400, 401, 403, 404, 413, 415]),
          },
        },
      },
      async (request, reply) => {
        const caller = admission.callerOf(request)
        const { org } = request.params
        return reply.code(201).send(await devices.enrol(caller, org, request.body.user))
      },
    )
  }
}
