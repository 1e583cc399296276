import {
  grantSchema,
  issueGrantRequestSchema,
  listGrantsResponseSchema,
  type OutstandingGrant,
} from '@palisade/protocol'
import { authorize, requireEntitled } from '../../identity/authorize.ts'
import { createOnce } from '../../identity/idempotency/idempotent-post.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { DeviceReportRecord, GrantRecord } from '../../store/distribution-records.ts'
import { requireDevice } from '../devices/device-service.ts'
import type { EnrolDeps } from '../enrolment/enrol-device.ts'
import { readMachine } from '../machines/machines.ts'
import { issueGrant } from './issue-grant.ts'

export interface BreakGlassRouteDeps extends EnrolDeps {
  readonly store: AuditedStore
}

const GRANTS = '/api/v1/orgs/:org/devices/:device/break-glass'
const tags = ['devices']
const permission = 'organization:admin'

/** `/api/v1/orgs/:org/devices/:device/break-glass` */
export function breakGlassRoutes(deps: BreakGlassRouteDeps): Route[] {
  const { store, now } = deps
  return [
    defineRoute(
      {
        method: 'GET',
        path: GRANTS,
        operationId: 'listGrants',
        tags,
        summary: 'List break-glass grants of a device that are in force or can still start',
        permission,
        lookUp: async (reader, { org, device }) =>
          requireDevice(await reader.devices.find(org, device)),
        answers: { 200: listGrantsResponseSchema },
      },
      async ({ caller, params: { org, device: id } }) =>
        store.read(async (reader) => {
          await authorize(reader, caller, org, permission)
          const device = requireDevice(await reader.devices.find(org, id))
          const { report } = await readMachine(reader, device)
          const grants = await reader.grants.listOutstanding(org, id, now().toISOString())
          return { data: grants.map((grant) => formatGrant(grant, report)) }
        }),
    ),
    defineRoute(
      {
        method: 'POST',
        path: GRANTS,
        operationId: 'createGrant',
        tags,
        summary:
          'Issue a break-glass grant: a device can use expired policies once, for limited time',
        permission,
        async lookUp(reader, { org, device }, { access }) {
          requireEntitled(access.organization)
          requireDevice(await reader.devices.find(org, device))
        },
        body: issueGrantRequestSchema,
        once: 'kept',
        answers: { 201: grantSchema },
      },
      async ({ caller, params: { org, device: id }, body, once, send }) => {
        const guard = once()
        const answer = await store.write(caller.author, async (writer) => {
          const { organization } = await authorize(writer, caller, org, permission)
          requireEntitled(organization)
          const device = requireDevice(await writer.devices.find(org, id))
          return createOnce(writer, guard, now(), () =>
            issueGrant(deps, writer, device, { ...body, issued_by: caller.author.actor }),
          )
        })
        return send(answer)
      },
    ),
  ]
}

function formatGrant(
  { org: _org, device_id: _device, over_at: _over, ...shown }: GrantRecord,
  report: DeviceReportRecord | undefined,
): OutstandingGrant {
  const begun_at = report?.grant_id === shown.id ? report.grant_begun_at : null
  return begun_at === null ? shown : { ...shown, begun_at }
}
