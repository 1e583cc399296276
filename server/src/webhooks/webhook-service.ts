import type {
  CreateWebhookRequest,
  ListDeliveriesQuery,
  ListDeliveriesResponse,
  ListWebhooksResponse,
  PageQuery,
  UpdateWebhookRequest,
  Webhook,
} from '@palisade/protocol'
import { authorize } from '../identity/authorize.ts'
import { requireRoom, type Quotas } from '../identity/limits/quotas.ts'
import type { Caller } from '../identity/principal.ts'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import type { Answer } from '../http/answer.ts'
import { limitExceeded, notFound, permissionDenied } from '../platform/api-error.ts'
import { readPage } from '../http/input/read-page.ts'
import type { OnceRequest } from '../identity/idempotency/answer-once.ts'
import { changeOnce, createOnce } from '../identity/idempotency/idempotent-post.ts'
import type { WorkBudget } from '../work/work-budget.ts'
import type { DeliveryRecord, EventHead, WebhookRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'
import { formatDeliveryId, parseDeliveryId } from './delivery-id.ts'
import { findWebhook } from './find-webhook.ts'
import { formatDelivery, listDeliveries } from './list-deliveries.ts'
import type { ReachableAddresses } from './reachable-addresses.ts'
import { createWebhookSecret } from './webhook-secret.ts'
import { requireWebhookUrl } from './webhook-url.ts'

/** Deliveries that somebody has asked for once more and that still wait. */
const MAX_PENDING = 100
/** How long a replaced secret signs as well, so that receivers can change theirs. */
const SECRET_OVERLAP_MS = 24 * 60 * 60 * 1000

export interface WebhookServiceDeps {
  readonly store: AuditedStore
  readonly quotas: Pick<Quotas, 'webhooks'>
  readonly budget: Pick<WorkBudget, 'begin'>
  readonly pageTokenKey: Uint8Array
  readonly reachable: ReachableAddresses
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly newId: () => string
  /** Called after a commit that leaves no event to wake the deliverer. */
  readonly wake: () => void
}

/**
 * Webhooks of an organization. Every method throws ApiError. A caller that decides where events go
 * needs `organization:admin` and `audit:read`, because they could direct the events to themselves.
 */
export interface WebhookService {
  list(caller: Caller, org: string, query: PageQuery): Promise<ListWebhooksResponse>
  get(caller: Caller, org: string, id: string): Promise<Webhook>
  /** Its first event is that of its own creation. */
  create(
    caller: Caller,
    org: string,
    request: CreateWebhookRequest,
    once: OnceRequest,
  ): Promise<Answer>
  update(caller: Caller, org: string, id: string, change: UpdateWebhookRequest): Promise<Webhook>
  rotateSecret(caller: Caller, org: string, id: string, once: OnceRequest): Promise<Answer>
  remove(caller: Caller, org: string, id: string): Promise<void>
  listDeliveries(
    caller: Caller,
    at: { readonly org: string; readonly id: string },
    query: ListDeliveriesQuery,
  ): Promise<ListDeliveriesResponse>
  /** Any event up to where the webhook has come, also one from before it was made. */
  redeliver(
    caller: Caller,
    at: { readonly org: string; readonly id: string; readonly delivery: string },
    once: OnceRequest,
  ): Promise<Answer>
}

export function createWebhookService(deps: WebhookServiceDeps): WebhookService {
  const { store, now } = deps
  return {
    list: (caller, org, query) =>
      store.read(async (reader) => {
        await authorize(reader, caller, org, 'organization:admin')
        return readWebhooks(deps, reader, org, query)
      }),

    get: (caller, org, id) =>
      store.read(async (reader) => {
        await authorize(reader, caller, org, 'organization:admin')
        return formatWebhook(await findWebhook(reader, org, id))
      }),

    create: (caller, org, request, once) =>
      store.write(caller.author, async (writer) => {
        await requireMayDirect(writer, caller, org)
        const url = requireWebhookUrl(request.url, deps.reachable)
        return createOnce(writer, once, now(), async () => {
          const { length } = await writer.webhooks.list(org)
          requireRoom(length, deps.quotas.webhooks, 'delete an unused webhook')
          const at = now().toISOString()
          const secret = createWebhookSecret(deps.random)
          const times = { created_at: at, secret_created_at: at }
          const webhook = { id: deps.newId(), org, url, enabled: true, secret, ...times }
          const head = await writer.events.head(org)
          await writer.webhooks.insert(webhook, head?.sequence ?? 0)
          return { ...formatWebhook(webhook), secret }
        })
      }),

    update: (caller, org, id, { url, enabled }) =>
      store.write(caller.author, async (writer) => {
        await requireMayDirect(writer, caller, org)
        const old = await findWebhook(writer, org, id)
        const changed = {
          ...old,
          url: url === undefined ? old.url : requireWebhookUrl(url, deps.reachable),
          enabled: enabled ?? old.enabled,
        }
        await writer.webhooks.update(changed, now().toISOString())
        return formatWebhook(changed)
      }),

    rotateSecret: (caller, org, id, once) =>
      store.write(caller.author, async (writer) => {
        await requireMayDirect(writer, caller, org)
        const webhook = await findWebhook(writer, org, id)
        return changeOnce(writer, once, now(), async () => {
          const secret = createWebhookSecret(deps.random)
          const at = now().toISOString()
          const previousUntil = new Date(now().getTime() + SECRET_OVERLAP_MS).toISOString()
          await writer.webhooks.replaceSecret({ org, id, secret, at, previousUntil })
          return { ...formatWebhook({ ...webhook, secret_created_at: at }), secret }
        })
      }),

    remove: (caller, org, id) =>
      store.write(caller.author, async (writer) => {
        await authorize(writer, caller, org, 'organization:admin')
        await findWebhook(writer, org, id)
        await writer.webhooks.delete(org, id)
      }),

    listDeliveries: (caller, at, query) => listDeliveries(deps, caller, at, query),

    async redeliver(caller, { org, id, delivery: deliveryId }, once) {
      const answer = await store.write(caller.author, async (writer) => {
        await requireMayDirect(writer, caller, org)
        const webhook = await findWebhook(writer, org, id)
        const event = await findEvent(writer, org, deliveryId)
        if (event === null || event.sequence > (await writer.deliveries.position(id)))
          throw notFound('delivery not found')
        return changeOnce(writer, once, now(), async () => {
          if ((await writer.deliveries.countPending(webhook.id)) >= MAX_PENDING)
            throw limitExceeded(`at most ${MAX_PENDING} repeated deliveries may be pending`)
          const again: DeliveryRecord = {
            webhook_id: webhook.id,
            sequence: event.sequence,
            state: 'pending',
            attempts: 0,
            status: null,
            error: null,
            attempted_at: null,
            next_attempt_at: now().toISOString(),
          }
          await writer.deliveries.put(again)
          return formatDelivery({ ...again, hash: event.hash })
        })
      })
      deps.wake()
      return answer
    },
  }
}

/** The event that a delivery id names; null if this history has no such event. */
async function findEvent(
  reader: StoreReader,
  org: string,
  deliveryId: string,
): Promise<EventHead | null> {
  const sequence = parseDeliveryId(deliveryId)
  if (sequence === null) return null
  const hash = await reader.events.hashAt(org, sequence)
  if (hash === null || formatDeliveryId({ sequence, hash }) !== deliveryId) return null
  return { sequence, hash }
}

async function requireMayDirect(reader: StoreReader, caller: Caller, org: string): Promise<void> {
  const { permissions } = await authorize(reader, caller, org, 'organization:admin')
  if (!permissions.includes('audit:read'))
    throw permissionDenied('a webhook delivers the history; this also needs `audit:read`')
}

async function readWebhooks(
  deps: WebhookServiceDeps,
  reader: StoreReader,
  org: string,
  query: PageQuery,
): Promise<ListWebhooksResponse> {
  const list = { of: 'webhooks', owner: org } as const
  const { rows, next_page_token } = await readPage(deps, list, query, {
    read: ({ after, limit }) => reader.webhooks.page(org, { after: parsePosition(after), limit }),
    positionOf: ({ created_at, id }) => `${created_at} ${id}`,
  })
  return { data: rows.map(formatWebhook), next_page_token }
}

/** A position in the list of webhooks: when one was made, and its id. */
function parsePosition(text: string): Pick<WebhookRecord, 'created_at' | 'id'> {
  const [created_at = '', id = ''] = text.split(' ')
  return { created_at, id }
}

function formatWebhook(
  webhook: Pick<WebhookRecord, 'id' | 'url' | 'enabled' | 'created_at' | 'secret_created_at'>,
): Webhook {
  const { id, url, enabled, created_at, secret_created_at } = webhook
  return { id, url, enabled, created_at, secret_created_at }
}
