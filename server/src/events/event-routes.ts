import { listEventsQuerySchema, listEventsResponseSchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { createAdmission } from '../identity/admission.ts'
import type { Authenticate } from '../identity/authenticate.ts'
import { createAnswersBeingSent } from '../http/body/answers-being-sent.ts'
import { errorResponses } from '../http/errors/error-responses.ts'
import { createAnswerTurns } from '../operations/overload/answer-turns.ts'
import { listEvents, type EventFeedDeps } from './list-events.ts'

export interface EventRouteDeps extends Omit<EventFeedDeps, 'turns'> {
  readonly authenticate: Authenticate
}

/** `GET /api/v1/orgs/:org/events` */
export function eventRoutes(deps: EventRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const admission = createAdmission(deps)
    const feed = { ...deps, turns: createAnswerTurns() }
    const beingSent = createAnswersBeingSent()
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
          response: {
            200: listEventsResponseSchema,
            ...errorResponses([400, 401, 403, 404, 410, 429]),
          },
        },
      },
      async (request, reply) => {
        const { org } = request.params
        beingSent.requireRoom(org)
        const answer = await listEvents(feed, admission.callerOf(request), org, request.query)
        return beingSent.send(reply, org, answer)
      },
    )
  }
}
