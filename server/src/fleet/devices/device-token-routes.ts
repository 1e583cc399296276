import {
  deviceTokenResponseSchema,
  enrolMachineRequestSchema,
  enrolmentSchema,
} from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { unauthenticatedDevice } from '../../platform/api-error.ts'
import { errorResponses } from '../../http/errors/error-responses.ts'
import { findLiveDevice } from '../../identity/device/authenticate-device.ts'
import { createMachineEnrolment, type EnrolMachineDeps } from '../enrolment/enrol-machine.ts'
import type { DeviceTokens } from '../../identity/device/device-tokens.ts'
import { proofSchema, type Proofs } from '../../identity/device/require-proof.ts'

/** A stranger's body is held until all of it is there. */
const MAX_BODY_BYTES = 4 * 1024

export interface DeviceTokenRouteDeps extends EnrolMachineDeps {
  readonly proofs: Proofs
  readonly tokens: DeviceTokens
}

const security = [{ device_proof: [] }]
const noQuery = z.strictObject({})

/** `POST /api/v1/enrol` and `POST /api/v1/device/token`: what a machine asks for with its key. */
export function deviceTokenRoutes(deps: DeviceTokenRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const enrol = createMachineEnrolment(deps)

    app.post(
      '/api/v1/enrol',
      {
        bodyLimit: MAX_BODY_BYTES,
        schema: {
          operationId: 'enrolMachine',
          tags: ['devices'],
          summary: 'Enrol a machine by an enrolment token and a proof of its key',
          security,
          headers: proofSchema,
          querystring: noQuery,
          body: enrolMachineRequestSchema,
          response: {
            201: enrolmentSchema,
            ...errorResponses([400, 401, 403, 409, 413, 415, 429]),
          },
        },
      },
      async (request, reply) => {
        const key = await deps.proofs.keyOf(request)
        const from = { address: request.ip, request_id: request.id }
        const { token: secret, name } = request.body
        const enrolment = await enrol({ secret, name, key, from })
        return reply.code(201).send(enrolment)
      },
    )

    app.post(
      '/api/v1/device/token',
      {
        config: { quiet: true, yields: 'begins' },
        schema: {
          operationId: 'createDeviceToken',
          tags: ['devices'],
          summary: 'Get a short device token by a proof of the key of the device',
          security,
          headers: proofSchema,
          querystring: noQuery,
          response: { 200: deviceTokenResponseSchema, ...errorResponses([400, 401, 403, 429]) },
        },
      },
      async (request) => {
        const { thumbprint, useUp } = await deps.proofs.keyOf(request)
        const { device } = await deps.store.read(async (reader) =>
          findLiveDevice(reader, await reader.devices.findByThumbprint(thumbprint), () =>
            unauthenticatedDevice('no device has this key, or it has been revoked'),
          ),
        )
        useUp()
        return {
          access_token: deps.tokens.issue({ id: device.id, thumbprint }),
          token_type: 'DPoP' as const,
          expires_in: deps.tokens.lifeSeconds,
        }
      },
    )
  }
}
