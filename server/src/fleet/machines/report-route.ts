import { deviceReportSchema, timestampSchema } from '@palisade/protocol'
import { z } from 'zod'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { proofSchema, type Proofs } from '../../identity/device/require-proof.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import type { LastSeen } from '../../views/last-seen.ts'
import type { ViewService } from '../../views/view-service.ts'
import { createNoteProbe } from './note-probes.ts'
import type { ReportLog } from './record-reports.ts'

/** A report is at most some 3 KB, escaped as JSON allows. */
const MAX_BODY_BYTES = 8 * 1024

export interface ReportRouteDeps {
  readonly views: Pick<ViewService, 'identify'>
  readonly proofs: Pick<Proofs, 'requireTokenProof'>
  readonly reports: Pick<ReportLog, 'record'>
  readonly lastSeen: Pick<LastSeen, 'record'>
  readonly now: () => Date
  readonly store: Pick<AuditedStore, 'note' | 'read'>
  readonly monotonicMs: () => number
}

/** `POST /api/v1/device/report` */
export function reportRoute(deps: ReportRouteDeps): Route {
  const noteProbe = createNoteProbe(deps)
  return defineRoute(
    {
      method: 'POST',
      path: '/api/v1/device/report',
      operationId: 'reportDevice',
      tags: ['devices'],
      summary: 'Report the policies and the state of this device; the newest report is kept',
      callers: 'machines',
      credential: 'device_token',
      async prove(request) {
        await deps.proofs.requireTokenProof(request)
        await deps.views.identify(request.headers.authorization)
      },
      headers: proofSchema,
      body: deviceReportSchema,
      bodyLimit: MAX_BODY_BYTES,
      config: { quiet: true, yields: 'begins' },
      answers: {
        200: z.strictObject({ reported_at: timestampSchema }).meta({ id: 'ReportReceipt' }),
      },
    },
    async ({ headers, body }) => {
      const device = await deps.views.identify(headers.authorization)
      const { deviceId } = device
      await noteProbe(device, body.enforcement)
      const at = deps.now()
      deps.reports.record(deviceId, body, at)
      deps.lastSeen.record(deviceId, at.getTime())
      return { reported_at: at.toISOString() }
    },
  )
}
