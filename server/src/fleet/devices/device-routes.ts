import {
  enrolDeviceRequestSchema,
  deviceSchema,
  enrolmentSchema,
  listDevicesQuerySchema,
  listDevicesResponseSchema,
  updateDeviceRequestSchema,
} from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { createAdmission } from '../../identity/admission.ts'
import type { Authenticate } from '../../identity/authenticate.ts'
import { sendAnswer } from '../../http/answer.ts'
import { errorResponses } from '../../http/errors/error-responses.ts'
import { idempotencyKeySchema, onceOf } from '../../identity/idempotency/idempotent-post.ts'
import { enrolmentTokenRoutes } from '../enrolment/enrolment-token-routes.ts'
import { proofSchema, type Proofs } from '../../identity/device/require-proof.ts'
import {
  createDeviceService,
  requireDevice,
  requireMayRevoke,
  type DeviceServiceDeps,
} from './device-service.ts'

export interface DeviceRouteDeps extends DeviceServiceDeps {
  readonly authenticate: Authenticate
  readonly proofs: Pick<Proofs, 'keyOf'>
}

const organizationParams = z.object({ org: z.string() })
const deviceParams = z.object({ org: z.string(), device: z.string() })
const noQuery = z.strictObject({})

/** `/api/v1/orgs/:org/devices` and `/api/v1/orgs/:org/enrolment-tokens` */
export function deviceRoutes(deps: DeviceRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const admission = createAdmission(deps)
    const devices = createDeviceService(deps)
    await app.register(enrolmentTokenRoutes(deps))

    app.get(
      '/api/v1/orgs/:org/devices',
      {
        onRequest: admission.organization('organization:admin'),
        schema: {
          operationId: 'listDevices',
          tags: ['devices'],
          summary: 'List the devices of an organization, revoked ones too, and how each fares',
          params: organizationParams,
          querystring: listDevicesQuerySchema,
          response: {
            200: listDevicesResponseSchema,
            ...errorResponses([400, 401, 403, 404, 429]),
          },
        },
      },
      async (request) =>
        devices.list(admission.callerOf(request), request.params.org, request.query),
    )

    app.post(
      '/api/v1/orgs/:org/devices',
      {
        onRequest: admission.organization(null),
        schema: {
          operationId: 'enrolDevice',
          tags: ['devices'],
          summary:
            'Enrol the machine whose key has signed `DPoP`; the answer is its enrolment file',
          params: organizationParams,
          headers: idempotencyKeySchema.extend(proofSchema.shape),
          querystring: noQuery,
          body: enrolDeviceRequestSchema,
          response: {
            201: enrolmentSchema,
            ...errorResponses([400, 401, 403, 404, 409, 413, 415]),
          },
        },
      },
      async (request, reply) => {
        const caller = admission.callerOf(request)
        const { org } = request.params
        const key = await deps.proofs.keyOf(request)
        // Another key is another machine, which must not be given the answer of the first.
        const once = onceOf(admission, request, { of: key.thumbprint })
        const { user, name } = request.body
        const wanted = { user, name, key }
        return sendAnswer(reply, await devices.enrol(caller, org, wanted, once))
      },
    )

    app.patch(
      '/api/v1/orgs/:org/devices/:device',
      {
        onRequest: admission.organization('organization:admin', async (reader, params) => {
          const { org = '', device = '' } = params
          requireDevice(await reader.devices.find(org, device))
        }),
        schema: {
          operationId: 'updateDevice',
          tags: ['devices'],
          summary: 'Replace the labels of a device, or rename it',
          params: deviceParams,
          querystring: noQuery,
          body: updateDeviceRequestSchema,
          response: { 200: deviceSchema, ...errorResponses([400, 401, 403, 404, 413, 415]) },
        },
      },
      async (request) => {
        const { org, device } = request.params
        return devices.update(admission.callerOf(request), org, device, request.body)
      },
    )

    app.delete(
      '/api/v1/orgs/:org/devices/:device',
      {
        onRequest: admission.organization(null, async (reader, params, caller) => {
          const { org = '', device = '' } = params
          requireMayRevoke(caller.principal, caller.access, await reader.devices.find(org, device))
        }),
        schema: {
          operationId: 'revokeDevice',
          tags: ['devices'],
          summary: 'Revoke a device; it fetches nothing from its next request on',
          params: deviceParams,
          querystring: noQuery,
          response: { 204: z.null(), ...errorResponses([400, 401, 403, 404]) },
        },
      },
      async (request, reply) => {
        const { org, device } = request.params
        await devices.revoke(admission.callerOf(request), org, device)
        return reply.code(204).send(null)
      },
    )
  }
}
