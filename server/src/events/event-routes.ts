import { listEventsQuerySchema, listEventsResponseSchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { createAnswersBeingSent } from '../http/body/answers-being-sent.ts'
import type { Authenticate } from '../identity/authenticate.ts'
import { registerRoutes } from '../identity/routes/register-routes.ts'
import { defineRoute } from '../identity/routes/route.ts'
import { createAnswerTurns } from '../work/answer-turns.ts'
import { listEvents, type EventFeedDeps } from './list-events.ts'

export interface EventRouteDeps extends Omit<EventFeedDeps, 'turns'> {
  readonly authenticate: Authenticate
}

/** Registers `GET /api/v1/orgs/:org/events`. */
export function eventRoutes(deps: EventRouteDeps): FastifyPluginAsyncZod {
  const { store, budget, pageTokenKey } = deps
  return async (app) => {
    const feed = { store, budget, pageTokenKey, turns: createAnswerTurns() }
    const beingSent = createAnswersBeingSent()
    registerRoutes(app, deps, [
      defineRoute(
        {
          method: 'GET',
          path: '/api/v1/orgs/:org/events',
          operationId: 'listEvents',
          tags: ['events'],
          summary: 'Changes in the organization, oldest first',
          permission: 'audit:read',
          query: listEventsQuerySchema,
          answers: { 200: listEventsResponseSchema },
          errors: [410, 429],
        },
        async ({ caller, params: { org }, query, reply }) => {
          beingSent.requireRoom(org)
          return beingSent.send(reply, org, await listEvents(feed, caller, org, query))
        },
      ),
    ])
  }
}
