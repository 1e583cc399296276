import {
  advanceRolloutRequestSchema,
  listRolloutsResponseSchema,
  pageQuerySchema,
  resumeRolloutRequestSchema,
  rollBackResponseSchema,
  rolloutSchema,
  rolloutStatusSchema,
  startRolloutRequestSchema,
} from '@palisade/protocol'
import { z } from 'zod'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import type { StoreReader } from '../../store/store.ts'
import { requireRollout } from './require-rollout.ts'
import { createRolloutService, type RolloutServiceDeps } from './rollout-service.ts'

const ROLLOUTS = '/api/v1/orgs/:org/rollouts'
const ROLLOUT = `${ROLLOUTS}/:rollout` as const
const tags = ['rollouts']
const permission = 'policies:write'

/** `/api/v1/orgs/:org/rollouts` */
export function rolloutRoutes(deps: RolloutServiceDeps): Route[] {
  const rollouts = createRolloutService(deps)
  return [
    defineRoute(
      {
        method: 'GET',
        path: ROLLOUTS,
        operationId: 'listRollouts',
        tags,
        summary: 'List the rollouts of an organization, newest first',
        permission: 'policies:read',
        query: pageQuerySchema,
        answers: { 200: listRolloutsResponseSchema },
      },
      async ({ caller, params, query }) => rollouts.list(caller, params.org, query),
    ),
    defineRoute(
      {
        method: 'POST',
        path: ROLLOUTS,
        operationId: 'startRollout',
        tags,
        summary: 'Start a rollout: changes of policies reach machines in stages from now on',
        permission,
        body: startRolloutRequestSchema,
        once: 'kept',
        answers: { 201: rolloutSchema },
        errors: [429],
      },
      async ({ caller, params, body, once, send }) =>
        send(await rollouts.start(caller, params.org, body, once())),
    ),
    defineRoute(
      {
        method: 'GET',
        path: ROLLOUT,
        operationId: 'getRollout',
        tags,
        summary: 'Get a rollout with the state of the machines that it has reached',
        permission: 'policies:read',
        lookUp: lookUpRollout,
        answers: { 200: rolloutStatusSchema },
        errors: [429],
      },
      async ({ caller, params }) => rollouts.status(caller, keyOf(params)),
    ),
    defineRoute(
      {
        method: 'POST',
        path: `${ROLLOUT}/advance`,
        operationId: 'advanceRollout',
        tags,
        summary: 'Advance to a later stage; its new machines get the current policies',
        permission,
        lookUp: lookUpRollout,
        body: advanceRolloutRequestSchema,
        once: 'kept',
        answers: { 200: rolloutSchema },
      },
      async ({ caller, params, body, once, send }) =>
        send(await rollouts.advance(caller, keyOf(params), body, once())),
    ),
    defineRoute(
      {
        method: 'POST',
        path: `${ROLLOUT}/resume`,
        operationId: 'resumeRollout',
        tags,
        summary: 'Resume a paused rollout; earlier rejections no longer count',
        permission,
        lookUp: lookUpRollout,
        body: resumeRolloutRequestSchema,
        once: 'kept',
        answers: { 200: rolloutSchema },
      },
      async ({ caller, params, body, once, send }) =>
        send(await rollouts.resume(caller, keyOf(params), body, once())),
    ),
    defineRoute(
      {
        method: 'POST',
        path: `${ROLLOUT}/pause`,
        operationId: 'pauseRollout',
        tags,
        summary: 'Pause a rollout at its current stage',
        permission,
        lookUp: lookUpRollout,
        once: 'kept',
        answers: { 200: rolloutSchema },
      },
      async ({ caller, params, once, send }) =>
        send(await rollouts.pause(caller, keyOf(params), once())),
    ),
    defineRoute(
      {
        method: 'POST',
        path: `${ROLLOUT}/finish`,
        operationId: 'finishRollout',
        tags,
        summary: 'Finish a rollout: all machines get the current policies',
        permission,
        lookUp: lookUpRollout,
        once: 'kept',
        answers: { 200: rolloutSchema },
      },
      async ({ caller, params, once, send }) =>
        send(await rollouts.finish(caller, keyOf(params), once())),
    ),
    defineRoute(
      {
        method: 'POST',
        path: `${ROLLOUT}/roll-back`,
        operationId: 'rollBackRollout',
        tags,
        summary: 'Roll back: all machines get the policies of before the rollout as a new revision',
        permission,
        lookUp: lookUpRollout,
        headers: z.object({
          'if-match': z.string().optional().meta({
            description: "Entity tag of the organization's revision",
          }),
        }),
        once: 'kept',
        answers: { 200: rollBackResponseSchema },
        errors: [412, 429],
      },
      async ({ caller, params, headers, once, send }) => {
        const at = { ...keyOf(params), ifMatch: headers['if-match'] }
        return send(await rollouts.rollBack(caller, at, once()))
      },
    ),
  ]
}

interface RolloutParams {
  readonly org: string
  readonly rollout: string
}

function keyOf({ org, rollout: id }: RolloutParams) {
  return { org, id }
}

function lookUpRollout(reader: StoreReader, { org, rollout }: RolloutParams): Promise<unknown> {
  return requireRollout(reader, org, rollout)
}
