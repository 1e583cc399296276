import {
  deviceSchema,
  enrolDeviceRequestSchema,
  enrolmentSchema,
  listDevicesQuerySchema,
  listDevicesResponseSchema,
  updateDeviceRequestSchema,
} from '@palisade/protocol'
import { z } from 'zod'
import { proofSchema, type Proofs } from '../../identity/device/require-proof.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import {
  createDeviceService,
  requireDevice,
  requireMayRevoke,
  type DeviceServiceDeps,
} from './device-service.ts'

export interface DeviceRouteDeps extends DeviceServiceDeps {
  readonly proofs: Pick<Proofs, 'keyOf'>
}

const DEVICES = '/api/v1/orgs/:org/devices'
const DEVICE = `${DEVICES}/:device` as const
const tags = ['devices']

/** `/api/v1/orgs/:org/devices` */
export function deviceRoutes(deps: DeviceRouteDeps): Route[] {
  const devices = createDeviceService(deps)
  return [
    defineRoute(
      {
        method: 'GET',
        path: DEVICES,
        operationId: 'listDevices',
        tags,
        summary: 'List the devices of an organization with their states, including revoked ones',
        permission: 'organization:admin',
        query: listDevicesQuerySchema,
        answers: { 200: listDevicesResponseSchema },
        errors: [429],
      },
      async ({ caller, params, query }) => devices.list(caller, params.org, query),
    ),
    defineRoute(
      {
        method: 'POST',
        path: DEVICES,
        operationId: 'enrolDevice',
        tags,
        summary: 'Enrol the machine whose key signed `DPoP`; the answer is its enrolment file',
        permission: null,
        headers: proofSchema,
        body: enrolDeviceRequestSchema,
        once: 'kept',
        answers: { 201: enrolmentSchema },
        errors: [403],
      },
      async ({ caller, params, body: { user, name }, once, request, send }) => {
        const key = await deps.proofs.keyOf(request)
        // Another key is another machine, which must not be given the answer of the first.
        const guard = once({ of: key.thumbprint })
        return send(await devices.enrol(caller, params.org, { user, name, key }, guard))
      },
    ),
    defineRoute(
      {
        method: 'PATCH',
        path: DEVICE,
        operationId: 'updateDevice',
        tags,
        summary: 'Replace the labels of a device, or rename it',
        permission: 'organization:admin',
        lookUp: async (reader, { org, device }) =>
          requireDevice(await reader.devices.find(org, device)),
        body: updateDeviceRequestSchema,
        answers: { 200: deviceSchema },
      },
      async ({ caller, params: { org, device }, body }) =>
        devices.update(caller, org, device, body),
    ),
    defineRoute(
      {
        method: 'DELETE',
        path: DEVICE,
        operationId: 'revokeDevice',
        tags,
        summary: 'Revoke a device; it is refused from its next request on',
        permission: null,
        lookUp: async (reader, { org, device }, { principal, access }) =>
          requireMayRevoke(principal, access, await reader.devices.find(org, device)),
        answers: { 204: z.null() },
        errors: [403],
      },
      async ({ caller, params: { org, device } }) => devices.revoke(caller, org, device),
    ),
  ]
}
