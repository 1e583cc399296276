import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Log } from '../operations/log/create-log.ts'
import type { Sources } from '../platform/sources.ts'
import type { Store } from '../store/store.ts'
import { createDeliverer, type Deliverer } from './deliverer.ts'
import { createReachableAddresses } from './reachable-addresses.ts'
import { createSendDelivery } from './send-delivery.ts'
import { webhookRoutes, type WebhookRouteDeps } from './webhook-routes.ts'

/** For one delivery, from resolving its name to the status of the answer. */
const TIMEOUT_MS = 15_000

/** Webhooks: the deliverer is there before the history that it delivers, the routes after. */
export interface Webhooks {
  readonly deliverer: Deliverer
  routes(
    deps: Pick<WebhookRouteDeps, 'store' | 'authenticate' | 'quotas' | 'budget' | 'pageTokenKey'>,
  ): FastifyPluginAsyncZod
}

/** Composes the administration of webhooks and their deliveries. */
export function composeWebhooks(deps: {
  readonly store: Store
  /** Addresses and ranges that may be reached besides the public internet. */
  readonly networks: readonly string[]
  readonly log: Log
  readonly sources: Sources
}): Webhooks {
  const { store, log } = deps
  const { now, random, newId } = deps.sources
  const reachable = createReachableAddresses(deps.networks)
  const deliverer = createDeliverer({
    store,
    send: createSendDelivery({ reachable, timeoutMs: TIMEOUT_MS }),
    now,
    random,
    newId,
    onError: (error) => log.error({ err: error }, 'webhooks cannot be delivered'),
  })
  return {
    deliverer,
    routes: ({ store: audited, authenticate, quotas, budget, pageTokenKey }) =>
      webhookRoutes({
        store: audited,
        authenticate,
        quotas,
        budget,
        pageTokenKey,
        reachable,
        now,
        random,
        newId,
        wake: () => deliverer.wake(),
      }),
  }
}
