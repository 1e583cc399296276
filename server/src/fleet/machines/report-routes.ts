import { deviceReportSchema, timestampSchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorResponses } from '../../http/errors/error-responses.ts'
import type { LastSeen } from '../../views/last-seen.ts'
import { proofSchema, type Proofs } from '../../identity/device/require-proof.ts'
import type { ViewService } from '../../views/view-service.ts'
import type { ReportLog } from './record-reports.ts'

/** A report is at most some 3 KB, escaped as JSON allows. */
const MAX_BODY_BYTES = 8 * 1024

export interface ReportRouteDeps {
  readonly views: Pick<ViewService, 'identify'>
  readonly proofs: Pick<Proofs, 'beside'>
  readonly reports: Pick<ReportLog, 'record'>
  readonly lastSeen: Pick<LastSeen, 'record'>
  readonly now: () => Date
}

/** `POST /api/v1/device/report` */
export function reportRoutes(deps: ReportRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    app.post(
      '/api/v1/device/report',
      {
        config: { quiet: true, yields: 'begins' },
        bodyLimit: MAX_BODY_BYTES,
        async onRequest(request) {
          await deps.proofs.beside(request)
          await deps.views.identify(request.headers.authorization)
        },
        schema: {
          operationId: 'reportDevice',
          tags: ['devices'],
          summary: 'Say what this device enforces and how it fares; the newest report is kept',
          security: [{ device_token: [] }],
          headers: proofSchema,
          querystring: z.strictObject({}),
          body: deviceReportSchema,
          response: {
            200: z.strictObject({ reported_at: timestampSchema }).meta({ id: 'ReportReceipt' }),
            ...errorResponses([400, 401, 403, 413, 415, 429]),
          },
        },
      },
      async (request) => {
        const { deviceId } = await deps.views.identify(request.headers.authorization)
        const at = deps.now()
        deps.reports.record(deviceId, request.body, at)
        deps.lastSeen.record(deviceId, at.getTime())
        return { reported_at: at.toISOString() }
      },
    )
  }
}
