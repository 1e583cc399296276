import {
  deliverySchema,
  listDeliveriesResponseSchema,
  listWebhooksResponseSchema,
  webhookSchema,
  webhookWithSecretSchema,
  type Delivery,
  type DeliveryState,
  type UpdateWebhookRequest,
  type Webhook,
  type WebhookWithSecret,
} from '@palisade/protocol'
import type { Call } from './call.ts'
import { collectPages } from './list-pages.ts'
import { apiPath } from './server-url.ts'

/** Receivers of the history of one organization. Every method throws `ClientError`. */
export interface WebhooksClient {
  /** By creation, page by page. */
  list(): Promise<readonly Webhook[]>
  get(webhookId: string): Promise<Webhook>
  /** `secret` in the answer signs deliveries. Only this answer and `rotateSecret` show it. */
  create(url: string): Promise<WebhookWithSecret>
  update(webhookId: string, change: UpdateWebhookRequest): Promise<Webhook>
  /** The old secret also signs for a day. */
  rotateSecret(webhookId: string): Promise<WebhookWithSecret>
  delete(webhookId: string): Promise<void>
  /** Lists the kept deliveries, newest first, page by page. */
  deliveries(
    webhookId: string,
    filter?: { readonly state?: DeliveryState },
  ): Promise<readonly Delivery[]>
  /** Delivers the event again, out of order. */
  redeliver(webhookId: string, deliveryId: string): Promise<Delivery>
}

export function createWebhooksClient(call: Call, root: string): WebhooksClient {
  const one = (webhookId: string, ...more: string[]): string => root + apiPath(webhookId, ...more)
  return {
    list: async () => collectPages(call, { path: root, page: listWebhooksResponseSchema }),
    get: async (webhookId) => call({ method: 'GET', path: one(webhookId) }, webhookSchema),
    create: async (url) =>
      call({ method: 'POST', path: root, body: { url } }, webhookWithSecretSchema),
    update: async (webhookId, body) =>
      call({ method: 'PATCH', path: one(webhookId), body }, webhookSchema),
    rotateSecret: async (webhookId) =>
      call({ method: 'POST', path: one(webhookId, 'rotate-secret') }, webhookWithSecretSchema),
    delete: async (webhookId) => call.empty({ method: 'DELETE', path: one(webhookId) }),
    deliveries: async (webhookId, query) =>
      collectPages(call, {
        path: one(webhookId, 'deliveries'),
        page: listDeliveriesResponseSchema,
        query,
      }),
    redeliver: async (webhookId, deliveryId) => {
      const path = one(webhookId, 'deliveries', deliveryId, 'redeliver')
      return call({ method: 'POST', path }, deliverySchema)
    },
  }
}
