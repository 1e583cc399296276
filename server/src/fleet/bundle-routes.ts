import { bundleSchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { createAdmission } from '../identity/admission.ts'
import type { Authenticate } from '../identity/authenticate.ts'
import { authorize, requireEntitled } from '../identity/authorize.ts'
import { payerOf } from '../identity/payer.ts'
import { formatPrincipal, type Caller } from '../identity/principal.ts'
import { createAnswersBeingSent } from '../http/body/answers-being-sent.ts'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import { errorResponses } from '../http/errors/error-responses.ts'
import { createAnswerTurns } from '../operations/overload/answer-turns.ts'
import type { WorkBudget } from '../operations/overload/work-budget.ts'
import { requireDevice } from './devices/device-service.ts'
import type { ViewService } from '../views/view-service.ts'

export interface BundleRouteDeps {
  readonly store: AuditedStore
  readonly authenticate: Authenticate
  readonly budget: Pick<WorkBudget, 'begin'>
  readonly views: Pick<ViewService, 'bundle'>
}

const HEADERS = { 'cache-control': 'no-store', 'content-type': 'application/json; charset=utf-8' }

/** `/api/v1/orgs/:org/devices/:device/bundle` */
export function bundleRoutes(deps: BundleRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const admission = createAdmission(deps)
    const turns = createAnswerTurns()
    const beingSent = createAnswersBeingSent()

    async function pack(caller: Caller, org: string, deviceId: string): Promise<Buffer> {
      beingSent.requireRoom(org)
      // Rights may have changed while others had their turns.
      const payer = await deps.store.read(async (reader) =>
        payerOf(caller, await authorize(reader, caller, org, 'organization:admin')),
      )
      const work = deps.budget.begin(payer)
      try {
        return await deps.views.bundle({ org, deviceId }, work)
      } finally {
        work.end()
      }
    }

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
          response: { 200: bundleSchema, ...errorResponses([400, 401, 403, 404, 409, 429]) },
        },
      },
      async (request, reply) => {
        const { org, device } = request.params
        const caller = admission.callerOf(request)
        const make = () => pack(caller, org, device)
        const body = await turns.run(org, make, formatPrincipal(caller))
        return beingSent.send(reply, org, { status: 200, headers: HEADERS, body })
      },
    )
  }
}
