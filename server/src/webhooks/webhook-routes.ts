import {
  createWebhookRequestSchema,
  deliverySchema,
  listDeliveriesQuerySchema,
  listDeliveriesResponseSchema,
  listWebhooksResponseSchema,
  pageQuerySchema,
  updateWebhookRequestSchema,
  webhookSchema,
  webhookWithSecretSchema,
} from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { createAdmission, type Admission } from '../identity/admission.ts'
import type { Authenticate } from '../identity/authenticate.ts'
import { sendAnswer } from '../http/answer.ts'
import { errorResponses } from '../http/errors/error-responses.ts'
import { idempotencyKeySchema, onceOf } from '../identity/idempotency/idempotent-post.ts'
import { findWebhook } from './find-webhook.ts'
import { createWebhookService, type WebhookServiceDeps } from './webhook-service.ts'

export interface WebhookRouteDeps extends WebhookServiceDeps {
  readonly authenticate: Authenticate
}

const LIST = '/api/v1/orgs/:org/webhooks'
const ONE = `${LIST}/:webhook`
const tags = ['webhooks']
const querystring = z.strictObject({})
const params = z.object({ org: z.string() })
const webhookParams = params.extend({ webhook: z.string() })
const deliveryParams = webhookParams.extend({ delivery: z.string() })
const readErrors = errorResponses([400, 401, 403, 404])
const writeErrors = errorResponses([400, 401, 403, 404, 413, 415])
const postErrors = errorResponses([400, 401, 403, 404, 409, 413, 415])
/** Of a POST without a body. */
const againErrors = errorResponses([400, 401, 403, 404, 409])

/** `/api/v1/orgs/:org/webhooks` */
export function webhookRoutes(deps: WebhookRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const routes = { admission: createAdmission(deps), webhooks: createWebhookService(deps) }
    await app.register(registrationRoutes(routes))
    await app.register(deliveryRoutes(routes))
  }
}

interface Routes {
  readonly admission: Admission
  readonly webhooks: ReturnType<typeof createWebhookService>
}

/** Admits administrators to a webhook that is there. */
function ofWebhook({ admission }: Routes) {
  return admission.organization('organization:admin', async (reader, names) => {
    await findWebhook(reader, names['org'] ?? '', names['webhook'] ?? '')
  })
}

function registrationRoutes(routes: Routes): FastifyPluginAsyncZod {
  const { admission, webhooks } = routes
  const onList = admission.organization('organization:admin')
  const onOne = ofWebhook(routes)
  return async (app) => {
    app.get(
      LIST,
      {
        onRequest: onList,
        schema: {
          operationId: 'listWebhooks',
          tags,
          summary: 'List the webhooks of an organization, by creation',
          params,
          querystring: pageQuerySchema,
          response: { 200: listWebhooksResponseSchema, ...readErrors },
        },
      },
      async (request) =>
        webhooks.list(admission.callerOf(request), request.params.org, request.query),
    )

    app.post(
      LIST,
      {
        onRequest: onList,
        schema: {
          operationId: 'createWebhook',
          tags,
          summary: 'Deliver every event from now on to a URL; its secret is shown once',
          params,
          headers: idempotencyKeySchema,
          querystring,
          body: createWebhookRequestSchema,
          response: { 201: webhookWithSecretSchema, ...postErrors },
        },
      },
      async (request, reply) => {
        const caller = admission.callerOf(request)
        const once = onceOf(admission, request, { hasSecret: true })
        return sendAnswer(
          reply,
          await webhooks.create(caller, request.params.org, request.body, once),
        )
      },
    )

    app.get(
      ONE,
      {
        onRequest: onOne,
        schema: {
          operationId: 'getWebhook',
          tags,
          summary: 'Show a webhook',
          params: webhookParams,
          querystring,
          response: { 200: webhookSchema, ...readErrors },
        },
      },
      async (request) => {
        const { org, webhook } = request.params
        return webhooks.get(admission.callerOf(request), org, webhook)
      },
    )

    app.patch(
      ONE,
      {
        onRequest: onOne,
        schema: {
          operationId: 'updateWebhook',
          tags,
          summary: 'Change the URL of a webhook, or let its events wait',
          params: webhookParams,
          querystring,
          body: updateWebhookRequestSchema,
          response: { 200: webhookSchema, ...writeErrors },
        },
      },
      async (request) => {
        const { org, webhook } = request.params
        return webhooks.update(admission.callerOf(request), org, webhook, request.body)
      },
    )

    app.delete(
      ONE,
      {
        onRequest: onOne,
        schema: {
          operationId: 'deleteWebhook',
          tags,
          summary: 'Delete a webhook with its deliveries',
          params: webhookParams,
          querystring,
          response: { 204: z.null(), ...readErrors },
        },
      },
      async (request, reply) => {
        const { org, webhook } = request.params
        await webhooks.remove(admission.callerOf(request), org, webhook)
        return reply.code(204).send(null)
      },
    )
  }
}

function deliveryRoutes(routes: Routes): FastifyPluginAsyncZod {
  const { admission, webhooks } = routes
  const onRequest = ofWebhook(routes)
  return async (app) => {
    app.post(
      `${ONE}/rotate-secret`,
      {
        onRequest,
        schema: {
          operationId: 'rotateWebhookSecret',
          tags,
          summary: 'Sign with a new secret; the one before signs as well for a day',
          params: webhookParams,
          headers: idempotencyKeySchema,
          querystring,
          response: { 200: webhookWithSecretSchema, ...againErrors },
        },
      },
      async (request, reply) => {
        const { org, webhook } = request.params
        const once = onceOf(admission, request, { hasSecret: true })
        const caller = admission.callerOf(request)
        return sendAnswer(reply, await webhooks.rotateSecret(caller, org, webhook, once))
      },
    )

    app.get(
      `${ONE}/deliveries`,
      {
        onRequest,
        schema: {
          operationId: 'listDeliveries',
          tags,
          summary: 'What became of events, the newest first',
          params: webhookParams,
          querystring: listDeliveriesQuerySchema,
          response: {
            200: listDeliveriesResponseSchema,
            ...errorResponses([400, 401, 403, 404, 429]),
          },
        },
      },
      async (request) => {
        const { org, webhook: id } = request.params
        return webhooks.listDeliveries(admission.callerOf(request), { org, id }, request.query)
      },
    )

    app.post(
      `${ONE}/deliveries/:delivery/redeliver`,
      {
        onRequest,
        schema: {
          operationId: 'redeliver',
          tags,
          summary: 'Deliver an event once more, out of order',
          params: deliveryParams,
          headers: idempotencyKeySchema,
          querystring,
          response: { 200: deliverySchema, ...againErrors },
        },
      },
      async (request, reply) => {
        const { org, webhook: id, delivery } = request.params
        const at = { org, id, delivery }
        const once = onceOf(admission, request)
        return sendAnswer(reply, await webhooks.redeliver(admission.callerOf(request), at, once))
      },
    )
  }
}
