import { listEventsQuerySchema, listEventsResponseSchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { createAdmission } from '../accounts/admission.ts'
import type { Authenticate } from '../accounts/authenticate.ts'
import { errorResponses } from '../http/error-responses.ts'
import { listEvents, type EventFeedDeps } from './list-events.ts'

export interface EventRouteDeps extends EventFeedDeps {
  readonly authenticate: Authenticate
}

/** `GET /api/v1/orgs/:org/events` */
export function eventRoutes(deps: EventRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const admission = createAdmission(deps)
    app.get(
      '/api/v1/orgs/:org/events',
      {
        onRequest: admission.organization('audit:read'),
        schema: {
          operationId: 'listEvents',
          tags: ['events'],
          summary: 'What was changed in the organization, the oldest first',
          params: z.object({ org: z.string() }),
          querystring: listEventsQuerySchema,
          response: { 200: listEventsResponseSchema, ...errorResponses([400, 401, 403, 404, 410]) },
        },
      },
      async (request) =>
        listEvents(deps, admission.callerOf(request), request.params.org, request.query),
    )
  }
}
