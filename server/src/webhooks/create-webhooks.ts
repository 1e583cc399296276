import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Log } from '../operations/log/create-log.ts'
import type { Sources } from '../platform/sources.ts'
import type { Store } from '../store/store.ts'
import { createCourier, type Courier } from './courier.ts'
import { createReachableAddresses } from './reachable-addresses.ts'
import { createSendDelivery } from './send-delivery.ts'
import { webhookRoutes, type WebhookRouteDeps } from './webhook-routes.ts'

/** For one delivery, from resolving its name to the status of the answer. */
const TIMEOUT_MS = 15_000

export interface Webhooks {
  readonly courier: Courier
  routes(
    deps: Pick<WebhookRouteDeps, 'store' | 'authenticate' | 'quotas' | 'budget' | 'pageTokenKey'>,
  ): FastifyPluginAsyncZod
}

/** The whole of webhooks: their administration and their deliveries. */
export function createWebhooks(deps: {
  readonly store: Store
  /** Addresses and ranges that may be reached besides the public internet. */
  readonly networks: readonly string[]
  readonly log: Log
  readonly sources: Sources
}): Webhooks {
  const { store, log, sources } = deps
  const reachable = createReachableAddresses(deps.networks)
  const courier = createCourier({
    store,
    ...sources,
    send: createSendDelivery({ reachable, timeoutMs: TIMEOUT_MS }),
    onError: (error) => log.error({ err: error }, 'webhooks cannot be delivered'),
  })
  return {
    courier,
    routes: (routeDeps) =>
      webhookRoutes({ ...routeDeps, reachable, ...sources, wake: () => courier.wake() }),
  }
}
