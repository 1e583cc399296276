import {
  grantSchema,
  issueGrantRequestSchema,
  listGrantsResponseSchema,
  type OutstandingGrant,
} from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { createAdmission } from '../../identity/admission.ts'
import type { Authenticate } from '../../identity/authenticate.ts'
import { authorize, requireEntitled } from '../../identity/authorize.ts'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { sendAnswer } from '../../http/answer.ts'
import { errorResponses } from '../../http/errors/error-responses.ts'
import {
  createOnce,
  idempotencyKeySchema,
  onceOf,
} from '../../identity/idempotency/idempotent-post.ts'
import type { DeviceReportRecord, GrantRecord } from '../../store/distribution-records.ts'
import { requireDevice } from '../devices/device-service.ts'
import type { EnrolDeps } from '../enrolment/enrol-device.ts'
import { readMachine } from '../machines/machines.ts'
import { issueGrant } from './issue-grant.ts'

export interface BreakGlassRouteDeps extends EnrolDeps {
  readonly store: AuditedStore
  readonly authenticate: Authenticate
}

const PATH = '/api/v1/orgs/:org/devices/:device/break-glass'
const params = z.object({ org: z.string(), device: z.string() })
const querystring = z.strictObject({})

/** `/api/v1/orgs/:org/devices/:device/break-glass` */
export function breakGlassRoutes(deps: BreakGlassRouteDeps): FastifyPluginAsyncZod {
  const { store, now } = deps
  return async (app) => {
    const admission = createAdmission(deps)

    app.get(
      PATH,
      {
        onRequest: admission.organization('organization:admin', async (reader, from) => {
          const { org = '', device = '' } = from
          requireDevice(await reader.devices.find(org, device))
        }),
        schema: {
          operationId: 'listGrants',
          tags: ['devices'],
          summary: 'List break-glass grants of a device that may be begun, or be in force',
          params,
          querystring,
          response: { 200: listGrantsResponseSchema, ...errorResponses([400, 401, 403, 404]) },
        },
      },
      async (request) => {
        const { org, device: id } = request.params
        return store.read(async (reader) => {
          await authorize(reader, admission.callerOf(request), org, 'organization:admin')
          const device = requireDevice(await reader.devices.find(org, id))
          const { report } = await readMachine(reader, device)
          const grants = await reader.grants.listOutstanding(org, id, now().toISOString())
          return { data: grants.map((grant) => formatGrant(grant, report)) }
        })
      },
    )

    app.post(
      PATH,
      {
        onRequest: admission.organization('organization:admin', async (reader, from, caller) => {
          const { org = '', device = '' } = from
          requireEntitled(caller.access.organization)
          requireDevice(await reader.devices.find(org, device))
        }),
        schema: {
          operationId: 'createGrant',
          tags: ['devices'],
          summary:
            'Issue a break-glass grant: once, for a while, expired policies of the device count',
          params,
          headers: idempotencyKeySchema,
          querystring,
          body: issueGrantRequestSchema,
          response: { 201: grantSchema, ...errorResponses([400, 401, 403, 404, 409, 413, 415]) },
        },
      },
      async (request, reply) => {
        const caller = admission.callerOf(request)
        const { org, device: id } = request.params
        const once = onceOf(admission, request)
        const answer = await store.write(caller.author, async (writer) => {
          const { organization } = await authorize(writer, caller, org, 'organization:admin')
          requireEntitled(organization)
          const device = requireDevice(await writer.devices.find(org, id))
          return createOnce(writer, once, now(), () =>
            issueGrant(deps, writer, device, { ...request.body, issued_by: caller.author.actor }),
          )
        })
        return sendAnswer(reply, answer)
      },
    )
  }
}

function formatGrant(
  { org: _org, device_id: _device, over_at: _over, ...shown }: GrantRecord,
  report: DeviceReportRecord | undefined,
): OutstandingGrant {
  const begun_at = report?.grant_id === shown.id ? report.grant_begun_at : null
  return begun_at === null ? shown : { ...shown, begun_at }
}
