import { bundleSchema } from '@palisade/protocol'
import { authorize, requireEntitled } from '../identity/authorize.ts'
import { payerOf } from '../identity/payer.ts'
import { formatPrincipal, type Caller } from '../identity/principal.ts'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import { createAnswersBeingSent } from '../http/body/answers-being-sent.ts'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import { createAnswerTurns } from '../work/answer-turns.ts'
import type { WorkBudget } from '../work/work-budget.ts'
import { requireDevice } from './devices/device-service.ts'
import type { ViewService } from '../views/view-service.ts'

export interface BundleRouteDeps {
  readonly store: AuditedStore
  readonly budget: Pick<WorkBudget, 'begin'>
  readonly views: Pick<ViewService, 'bundle'>
}

const HEADERS = { 'cache-control': 'no-store', 'content-type': 'application/json; charset=utf-8' }

/** `GET /api/v1/orgs/:org/devices/:device/bundle` */
export function bundleRoute(deps: BundleRouteDeps): Route {
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

  return defineRoute(
    {
      method: 'GET',
      path: '/api/v1/orgs/:org/devices/:device/bundle',
      operationId: 'getDeviceBundle',
      tags: ['devices'],
      summary: 'Get a signed bundle of all that a device would fetch now, to transfer by hand',
      permission: 'organization:admin',
      async lookUp(reader, { org, device }, { access }) {
        requireDevice(await reader.devices.find(org, device))
        requireEntitled(access.organization)
      },
      answers: { 200: bundleSchema },
      errors: [409, 429],
    },
    async ({ caller, params: { org, device }, reply }) => {
      const make = () => pack(caller, org, device)
      const body = await turns.run(org, make, formatPrincipal(caller))
      return beingSent.send(reply, org, { status: 200, headers: HEADERS, body })
    },
  )
}
