import {
  deviceTokenResponseSchema,
  enrolMachineRequestSchema,
  enrolmentSchema,
} from '@palisade/protocol'
import { unauthenticatedDevice } from '../../platform/api-error.ts'
import { findLiveDevice } from '../../identity/device/authenticate-device.ts'
import type { DeviceTokens } from '../../identity/device/device-tokens.ts'
import { proofSchema, type Proofs } from '../../identity/device/require-proof.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import { createMachineEnrolment, type EnrolMachineDeps } from '../enrolment/enrol-machine.ts'

/** A stranger's body is held until all of it is there. */
const MAX_BODY_BYTES = 4 * 1024

export interface DeviceTokenRouteDeps extends EnrolMachineDeps {
  readonly proofs: Proofs
  readonly tokens: DeviceTokens
}

const tags = ['devices']

/**
 * `POST /api/v1/enrol` and `POST /api/v1/device/token`: requests that a machine makes with its key.
 */
export function deviceTokenRoutes(deps: DeviceTokenRouteDeps): Route[] {
  const enrol = createMachineEnrolment(deps)
  return [
    defineRoute(
      {
        method: 'POST',
        path: '/api/v1/enrol',
        operationId: 'enrolMachine',
        tags,
        summary: 'Enrol a machine with an enrolment token and a proof of its key',
        callers: 'machines',
        credential: 'device_proof',
        headers: proofSchema,
        body: enrolMachineRequestSchema,
        bodyLimit: MAX_BODY_BYTES,
        answers: { 201: enrolmentSchema },
        errors: [409],
      },
      async ({ body: { token: secret, name }, request }) => {
        const key = await deps.proofs.keyOf(request)
        const from = { address: request.ip, request_id: request.id }
        return enrol({ secret, name, key, from })
      },
    ),
    defineRoute(
      {
        method: 'POST',
        path: '/api/v1/device/token',
        operationId: 'createDeviceToken',
        tags,
        summary: 'Get a short-lived device token with a proof of the device key',
        callers: 'machines',
        credential: 'device_proof',
        headers: proofSchema,
        config: { quiet: true, yields: 'begins' },
        answers: { 200: deviceTokenResponseSchema },
      },
      async ({ request }) => {
        const { thumbprint, consume } = await deps.proofs.keyOf(request)
        const { device } = await deps.store.read(async (reader) =>
          findLiveDevice(reader, await reader.devices.findByThumbprint(thumbprint), () =>
            unauthenticatedDevice('no device has this key, or it has been revoked'),
          ),
        )
        consume()
        return {
          access_token: deps.tokens.issue({ id: device.id, thumbprint }),
          token_type: 'DPoP' as const,
          expires_in: deps.tokens.lifeSeconds,
        }
      },
    ),
  ]
}
