import { nextTurn } from '../platform/next-turn.ts'
import type { DeliveryRecord } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import type { EventText } from '../store/aggregates/history/event-contract.ts'
import type { ClaimedDelivery } from '../store/aggregates/history/deliveries.ts'
import { nextAttempt } from './retry-schedule.ts'
import type { SendDelivery, SendOutcome } from './send-delivery.ts'
import { assignSlots } from './delivery-slots.ts'
import { signDelivery } from './sign-delivery.ts'

/** Beyond the longest attempt; then another server may send the event again. */
const LEASE_MS = 60_000
/** The longest time until it notices an event of another server, or a retry that is due. */
const LOOK_EVERY_MS = 5_000
/** An attempt that waits costs a socket and its event. */
const SLOTS = { total: 32, perOrganization: 4 }
/**
 * Enough to choose from: those that are being sent to may be due again, having been changed
 * meanwhile, and organizations that have all of their slots have turns of their own.
 */
const LOOK_AT = { perOrganization: 2 * SLOTS.perOrganization, limit: 4 * SLOTS.total }

export interface DelivererDeps {
  readonly store: Pick<Store, 'read' | 'transaction'>
  readonly send: SendDelivery
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly newId: () => string
  /** Called with errors that keep it from working, such as a store that does not answer. */
  readonly onError: (error: unknown) => void
}

/**
 * Delivers events to webhooks: each webhook gets its events in order and at least once. The events
 * themselves are the outbox, so that every committed event is delivered, also after a crash.
 */
export interface Deliverer {
  /** Looks for work every few seconds from now on. */
  start(): void
  /** Looks for work at once: something was written. Without effect before `start`. */
  wake(): void
  /** Delivers due events, and resolves when no event is due any more. */
  deliverDue(): Promise<void>
  /** Aborts running attempts, which will be made again, and starts no others. */
  stop(): Promise<void>
}

export function createDeliverer(deps: DelivererDeps): Deliverer {
  const { store, now } = deps
  const owner = deps.newId()
  const stopping = new AbortController()
  let nudge = Promise.withResolvers<void>()
  let running: Promise<void> | null = null
  let isWanted = false
  let timer: NodeJS.Timeout | undefined
  let isStarted = false

  /**
   * One event of each webhook at a time, and few of an organization: a slow receiver delays only
   * itself.
   */
  async function deliverDue(): Promise<void> {
    const active = new Map<string, { readonly org: string; readonly sent: Promise<unknown> }>()
    try {
      while (!stopping.signal.aborted) {
        nudge = Promise.withResolvers()
        const at = now().toISOString()
        const due = await store.read((reader) => reader.deliveries.due(at, LOOK_AT))
        const idle = due.filter(({ id }) => !active.has(id))
        const busy = [...active.values()].map(({ org }) => org)
        for (const { id, org } of assignSlots(idle, busy, SLOTS)) {
          const sent = deliverNext(deps, id, owner, stopping.signal)
          active.set(id, { org, sent: sent.finally(() => active.delete(id)) })
        }
        if (active.size === 0) return
        await Promise.race([...sendsOf(active), nudge.promise])
        await nextTurn()
      }
    } finally {
      await Promise.allSettled(sendsOf(active))
    }
  }

  async function run(): Promise<void> {
    while (isWanted && !stopping.signal.aborted) {
      // Requests answered by one commit wake it in one turn, and one look finds all their events.
      await nextTurn()
      isWanted = false
      await deliverDue().catch(deps.onError)
    }
  }

  function wake(): void {
    if (!isStarted || stopping.signal.aborted) return
    isWanted = true
    nudge.resolve()
    running ??= run().finally(() => {
      running = null
    })
  }

  function look(): void {
    wake()
    timer = setTimeout(look, LOOK_EVERY_MS).unref()
  }

  return {
    start() {
      isStarted = true
      look()
    },
    wake,
    deliverDue,
    async stop() {
      clearTimeout(timer)
      stopping.abort()
      await running
    },
  }
}

function sendsOf(active: ReadonlyMap<string, { readonly sent: Promise<unknown> }>) {
  return [...active.values()].map(({ sent }) => sent)
}

/** Sends the next event of a webhook, unless no event is due or another server has it. */
async function deliverNext(
  deps: DelivererDeps,
  webhookId: string,
  owner: string,
  stop: AbortSignal,
): Promise<void> {
  const { store, send, now } = deps
  const found = await store.transaction((writer) => {
    const at = now()
    const until = new Date(at.getTime() + LEASE_MS).toISOString()
    return writer.deliveries.claim(webhookId, { owner, now: at.toISOString(), until })
  })
  if (found === null) return
  const { webhook, sequence } = found
  const event = await findEvent(store, webhook.org, sequence)
  const outcome =
    event === null
      ? { status: null, error: 'no_event' }
      : await send(webhook.url, signDelivery(webhook, event, now()), stop)
  await store.transaction(async (writer) => {
    if (stop.aborted) return writer.deliveries.release(webhookId, owner)
    const { delivery, position } = describeAttempt(found, outcome, now(), chanceOf(deps))
    await writer.deliveries.settle(owner, delivery, position)
  })
}

async function findEvent(
  store: DelivererDeps['store'],
  org: string,
  sequence: number,
): Promise<EventText | null> {
  const page = { after: sequence - 1, through: sequence, limit: 1 }
  return (await store.read((reader) => reader.events.listTexts(org, page)))[0] ?? null
}

/** The outcome of an attempt for the event, and for those that wait behind it. */
function describeAttempt(
  { webhook, sequence, attempts: before, isAgain }: ClaimedDelivery,
  { status, error }: SendOutcome,
  at: Date,
  chance: number,
) {
  const attempts = before + 1
  const now = at.toISOString()
  const retryAt =
    error === null || isAgain ? null : (nextAttempt(attempts, at, chance)?.toISOString() ?? null)
  const delivery: DeliveryRecord = {
    webhook_id: webhook.id,
    sequence,
    state: error === null ? 'delivered' : retryAt === null ? 'dead' : 'retrying',
    attempts,
    status,
    error,
    attempted_at: now,
    next_attempt_at: retryAt,
  }
  if (isAgain) return { delivery, position: null }
  const position =
    retryAt === null
      ? { delivered_sequence: sequence, attempts: 0, next_attempt_at: now }
      : { delivered_sequence: sequence - 1, attempts, next_attempt_at: retryAt }
  return { delivery, position }
}

function chanceOf({ random }: DelivererDeps): number {
  return (random(1)[0] ?? 0) / 255
}
