import { revisionStatusSchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { createAdmission } from '../../identity/admission.ts'
import type { Authenticate } from '../../identity/authenticate.ts'
import { createAnswerTurns } from '../../operations/overload/answer-turns.ts'
import { errorResponses } from '../../http/errors/error-responses.ts'
import { createRememberedCounts, type RememberedCountDeps } from './remembered-counts.ts'
import {
  readRevisionStatus,
  requireRevision,
  type CountedRevision,
  type RevisionStatusDeps,
} from './revision-status.ts'

export interface RevisionRouteDeps
  extends Omit<RevisionStatusDeps, 'turns' | 'counts'>, RememberedCountDeps {
  readonly authenticate: Authenticate
}

/** `GET /api/v1/orgs/:org/revisions/:revision` */
export function revisionRoutes(deps: RevisionRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const admission = createAdmission(deps)
    const turns = createAnswerTurns()
    const counts = createRememberedCounts<CountedRevision>(deps)
    app.get(
      '/api/v1/orgs/:org/revisions/:revision',
      {
        onRequest: admission.organization('policies:read', async (_reader, params, { access }) => {
          requireRevision(params['revision'] ?? '', access.organization.revision)
        }),
        schema: {
          operationId: 'getRevisionStatus',
          tags: ['devices'],
          summary: 'How many devices enforce a revision, refuse it, or have not said so',
          params: z.object({ org: z.string(), revision: z.string() }),
          querystring: z.strictObject({}),
          response: { 200: revisionStatusSchema, ...errorResponses([400, 401, 403, 404, 429]) },
        },
      },
      async (request) => {
        const { org, revision } = request.params
        const caller = admission.callerOf(request)
        return readRevisionStatus({ ...deps, turns, counts }, caller, org, revision)
      },
    )
  }
}
