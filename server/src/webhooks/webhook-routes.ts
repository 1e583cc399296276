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
import type { Authenticate } from '../identity/authenticate.ts'
import { registerRoutes } from '../identity/routes/register-routes.ts'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import type { StoreReader } from '../store/store.ts'
import { findWebhook } from './find-webhook.ts'
import {
  createWebhookService,
  type WebhookService,
  type WebhookServiceDeps,
} from './webhook-service.ts'

export interface WebhookRouteDeps extends WebhookServiceDeps {
  readonly authenticate: Authenticate
}

const WEBHOOKS = '/api/v1/orgs/:org/webhooks'
const WEBHOOK = `${WEBHOOKS}/:webhook` as const
const tags = ['webhooks']
const permission = 'organization:admin'

/** `/api/v1/orgs/:org/webhooks` */
export function webhookRoutes(deps: WebhookRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const webhooks = createWebhookService(deps)
    registerRoutes(app, deps, [...registrationRoutes(webhooks), ...deliveryRoutes(webhooks)])
  }
}

function registrationRoutes(webhooks: WebhookService): Route[] {
  return [
    defineRoute(
      {
        method: 'GET',
        path: WEBHOOKS,
        operationId: 'listWebhooks',
        tags,
        summary: 'List the webhooks of an organization, by creation',
        permission,
        query: pageQuerySchema,
        answers: { 200: listWebhooksResponseSchema },
      },
      async ({ caller, params, query }) => webhooks.list(caller, params.org, query),
    ),
    defineRoute(
      {
        method: 'POST',
        path: WEBHOOKS,
        operationId: 'createWebhook',
        tags,
        summary: 'Create a webhook for all later events; its secret is shown once',
        permission,
        body: createWebhookRequestSchema,
        once: 'secret',
        answers: { 201: webhookWithSecretSchema },
      },
      async ({ caller, params, body, once, send }) =>
        send(await webhooks.create(caller, params.org, body, once())),
    ),
    defineRoute(
      {
        method: 'GET',
        path: WEBHOOK,
        operationId: 'getWebhook',
        tags,
        summary: 'Get a webhook',
        permission,
        lookUp: lookUpWebhook,
        answers: { 200: webhookSchema },
      },
      async ({ caller, params: { org, webhook } }) => webhooks.get(caller, org, webhook),
    ),
    defineRoute(
      {
        method: 'PATCH',
        path: WEBHOOK,
        operationId: 'updateWebhook',
        tags,
        summary: 'Change the URL of a webhook, or pause its deliveries',
        permission,
        lookUp: lookUpWebhook,
        body: updateWebhookRequestSchema,
        answers: { 200: webhookSchema },
      },
      async ({ caller, params: { org, webhook }, body }) =>
        webhooks.update(caller, org, webhook, body),
    ),
    defineRoute(
      {
        method: 'DELETE',
        path: WEBHOOK,
        operationId: 'deleteWebhook',
        tags,
        summary: 'Delete a webhook with its deliveries',
        permission,
        lookUp: lookUpWebhook,
        answers: { 204: z.null() },
      },
      async ({ caller, params: { org, webhook } }) => webhooks.remove(caller, org, webhook),
    ),
  ]
}

function deliveryRoutes(webhooks: WebhookService): Route[] {
  return [
    defineRoute(
      {
        method: 'POST',
        path: `${WEBHOOK}/rotate-secret`,
        operationId: 'rotateWebhookSecret',
        tags,
        summary: 'Rotate the secret of a webhook; the previous one also signs for a day',
        permission,
        lookUp: lookUpWebhook,
        once: 'secret',
        answers: { 200: webhookWithSecretSchema },
      },
      async ({ caller, params: { org, webhook }, once, send }) =>
        send(await webhooks.rotateSecret(caller, org, webhook, once())),
    ),
    defineRoute(
      {
        method: 'GET',
        path: `${WEBHOOK}/deliveries`,
        operationId: 'listDeliveries',
        tags,
        summary: 'List the deliveries of a webhook, newest first',
        permission,
        lookUp: lookUpWebhook,
        query: listDeliveriesQuerySchema,
        answers: { 200: listDeliveriesResponseSchema },
        errors: [429],
      },
      async ({ caller, params: { org, webhook: id }, query }) =>
        webhooks.listDeliveries(caller, { org, id }, query),
    ),
    defineRoute(
      {
        method: 'POST',
        path: `${WEBHOOK}/deliveries/:delivery/redeliver`,
        operationId: 'redeliver',
        tags,
        summary: 'Deliver an event again, out of order',
        permission,
        lookUp: lookUpWebhook,
        once: 'kept',
        answers: { 200: deliverySchema },
      },
      async ({ caller, params: { org, webhook: id, delivery }, once, send }) =>
        send(await webhooks.redeliver(caller, { org, id, delivery }, once())),
    ),
  ]
}

function lookUpWebhook(
  reader: StoreReader,
  { org, webhook }: { readonly org: string; readonly webhook: string },
): Promise<unknown> {
  return findWebhook(reader, org, webhook)
}
