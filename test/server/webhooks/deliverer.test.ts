import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { nextTurn } from '../../../server/src/platform/next-turn.ts'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { createDeliverer, type Deliverer } from '../../../server/src/webhooks/deliverer.ts'
import { createReachableAddresses } from '../../../server/src/webhooks/reachable-addresses.ts'
import { createSendDelivery } from '../../../server/src/webhooks/send-delivery.ts'
import { createWebhookSecret } from '../../../server/src/webhooks/webhook-secret.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { openReceiver, verify, type Receiver } from './receiver.ts'

const START = '2026-11-21T08:00:00.250Z'
const SECRET = createWebhookSecret((bytes) => new Uint8Array(bytes).fill(7))
const NEW_SECRET = createWebhookSecret((bytes) => new Uint8Array(bytes).fill(8))

describe('the deliverer', () => {
  let clockMs: number
  let path: string
  let store: Store
  let receiver: Receiver
  let deliverer: Deliverer

  beforeEach(async () => {
    clockMs = Date.parse(START)
    path = join(temporaryDirectory(), 'server.db')
    store = openSqliteStore(path)
    onTestFinished(() => store.close())
    receiver = await openReceiver()
    deliverer = createTestDeliverer(store)
    await seed(store)
  })

  const now = () => new Date(clockMs)

  /** An organization with two undelivered events: its creation and that of its webhook. */
  async function seed(on: Store, org = 'acme', webhooks = [webhookOf('w1', receiver)]) {
    await createAuditedStore({ store: on, now }).write(OPERATOR, async (writer) => {
      const settings = { entitled: true, resolve_unlisted_names: false, created_at: START }
      await writer.organizations.insert({ name: org, ...settings })
      for (const webhook of webhooks) await writer.webhooks.insert({ ...webhook, org }, 2)
    })
  }

  function webhookOf(id: string, { url }: Receiver) {
    const made = { secret: SECRET, secret_created_at: START, created_at: START }
    return { id, org: 'acme', url, enabled: true, ...made }
  }

  function createTestDeliverer(on: Store, timeoutMs = 5000): Deliverer {
    const reachable = createReachableAddresses(['127.0.0.1'])
    const made = createDeliverer({
      store: on,
      send: createSendDelivery({ reachable, timeoutMs }),
      now,
      random: (bytes) => new Uint8Array(bytes),
      newId: () => randomUUID(),
      onError: (error) => {
        throw error
      },
    })
    onTestFinished(() => made.stop())
    return made
  }

  /** Writes one event each; events 1 and 2 are those of organization and webhook. */
  async function change(...names: string[]): Promise<void> {
    const audited = createAuditedStore({ store, now })
    for (const name of names)
      await audited.write(OPERATOR, (writer) =>
        writer.teams.insert({ id: name, org: 'acme', name }),
      )
  }
  const ids = () => receiver.received.map(({ headers }) => String(headers['webhook-id']))
  const sequences = () => ids().map((id) => Number(/^evt_(\d+)_[0-9a-f]{32}$/.exec(id)?.[1]))
  const deliveries = () =>
    store.read((reader) => reader.deliveries.list('w1', { state: null, limit: 100 }))
  async function pass(seconds: number): Promise<void> {
    clockMs += seconds * 1000
    await deliverer.deliverDue()
  }

  it('delivers each event once, in order, as the feed shows it and signed', async () => {
    await change('one', 'two', 'three')

    await deliverer.deliverDue()
    await deliverer.deliverDue()

    expect(sequences()).toEqual([3, 4, 5])
    const page = { after: 2, through: 5, limit: 10 }
    const events = await store.read((reader) => reader.events.list('acme', page))
    expect(receiver.received.map((request) => verify(request, SECRET, now()))).toEqual(events)
    expect(receiver.received[0]).toMatchObject({
      path: '/hook',
      headers: { 'content-type': 'application/json' },
    })
    expect((await deliveries()).map(({ sequence, state }) => [sequence, state])).toEqual([
      [5, 'delivered'],
      [4, 'delivered'],
      [3, 'delivered'],
    ])
  })

  it('sends the stored text without parsing it', async () => {
    await change('one')
    const taken = new Error('an event is taken apart')
    const whole: Store = {
      ...store,
      read: (work) =>
        store.read((reader) =>
          work({ ...reader, events: { ...reader.events, list: () => Promise.reject(taken) } }),
        ),
    }

    await createTestDeliverer(whole).deliverDue()

    expect(sequences()).toEqual([3])
  })

  it('keeps the id of an event in a retry, with another id in another history', async () => {
    receiver.replies.push(500)
    await change('one')
    await deliverer.deliverDue()
    await pass(5)
    const [first, second] = ids()
    const backup = openSqliteStore(join(temporaryDirectory(), 'server.db'))
    onTestFinished(() => backup.close())
    await seed(backup)

    store = backup
    await change('one')
    await createTestDeliverer(backup).deliverDue()

    expect(second).toBe(first)
    expect(sequences()).toEqual([3, 3, 3])
    expect(ids()[2]).not.toBe(first)
  })

  it('signs with the secret and the body', async () => {
    await change('one')
    await deliverer.deliverDue()
    const [request] = receiver.received
    if (request === undefined) throw new Error('nothing was delivered')

    expect(() => verify(request, NEW_SECRET, now())).toThrow('No matching signature')
    const forged = { ...request, body: request.body.replace('operator', 'user:x') }
    expect(() => verify(forged, SECRET, now())).toThrow('No matching signature')
    const late = new Date(clockMs + 6 * 60_000)
    expect(() => verify(request, SECRET, late)).toThrow('too old')
  })

  it('signs with both secrets for a day after a rotation', async () => {
    await store.transaction((writer) =>
      writer.webhooks.replaceSecret({
        org: 'acme',
        id: 'w1',
        secret: NEW_SECRET,
        at: START,
        previousUntil: '2026-11-22T08:00:00.250Z',
      }),
    )
    await change('one')
    await deliverer.deliverDue()
    const first = now()
    await change('two')
    await pass(24 * 60 * 60)

    const [during, after] = receiver.received
    if (during === undefined || after === undefined) throw new Error('nothing was delivered')
    for (const secret of [SECRET, NEW_SECRET])
      expect(() => verify(during, secret, first)).not.toThrow()
    expect(() => verify(after, NEW_SECRET, now())).not.toThrow()
    expect(() => verify(after, SECRET, now())).toThrow('No matching signature')
  })

  it('retries on schedule with the same id while later events wait', async () => {
    receiver.replies.push(500, 302, 429)
    await change('one', 'two')

    await deliverer.deliverDue()
    expect(sequences()).toEqual([3])
    await pass(4)
    expect(sequences()).toHaveLength(1)
    expect(await deliveries()).toEqual([
      expect.objectContaining({ state: 'retrying', attempts: 1, status: 500, error: 'status' }),
    ])
    await pass(1)
    expect(await deliveries()).toMatchObject([{ attempts: 2, status: 302, error: 'redirect' }])
    await pass(30)
    await pass(119)
    expect(sequences()).toHaveLength(3)
    await pass(1)

    expect(sequences()).toEqual([...Array.from({ length: 4 }, () => 3), 4])
    expect(receiver.received.every((request) => request.path === '/hook')).toBe(true)
    expect(await deliveries()).toMatchObject([
      { sequence: 4, state: 'delivered', attempts: 1 },
      { sequence: 3, state: 'delivered', attempts: 4, status: 204, error: null },
    ])
  })

  it('gives up an event after eight attempts and continues with the next', async () => {
    receiver.replies.push(...Array.from({ length: 8 }, () => 503))
    await change('one', 'two')

    await deliverer.deliverDue()
    for (const seconds of [5, 30, 120, 600, 1800, 7200, 21_600]) await pass(seconds)

    expect(sequences()).toEqual([...Array.from({ length: 8 }, () => 3), 4])
    expect(await deliveries()).toMatchObject([
      { sequence: 4, state: 'delivered' },
      { sequence: 3, state: 'dead', attempts: 8, status: 503, next_attempt_at: null },
    ])
  })

  it('redelivers on request without changing the order of other events', async () => {
    receiver.replies.push(204, 500)
    await change('one', 'two')
    await deliverer.deliverDue()
    const again = {
      webhook_id: 'w1',
      sequence: 1,
      state: 'pending' as const,
      attempts: 0,
      status: null,
      error: null,
      attempted_at: null,
      next_attempt_at: START,
    }
    await store.transaction((writer) => writer.deliveries.put(again))
    await deliverer.deliverDue()
    await pass(5)

    expect(sequences()).toEqual([3, 4, 1, 4])
    expect(await deliveries()).toMatchObject([
      { sequence: 4, state: 'delivered', attempts: 2 },
      { sequence: 3, state: 'delivered' },
      { sequence: 1, state: 'delivered', attempts: 1 },
    ])
  })

  it('gives up a failed redelivery at once', async () => {
    await change('one')
    await deliverer.deliverDue()
    receiver.replies.push(500)
    const [delivery] = await deliveries()
    if (delivery === undefined) throw new Error('nothing was delivered')
    await store.transaction((writer) => writer.deliveries.put({ ...delivery, state: 'pending' }))

    await deliverer.deliverDue()

    expect(await deliveries()).toMatchObject([{ sequence: 3, state: 'dead', attempts: 1 }])
  })

  it('aborts a receiver that does not answer', async () => {
    receiver.replies.push('silence')
    await change('one')

    await createTestDeliverer(store, 100).deliverDue()

    expect(await deliveries()).toMatchObject([
      { state: 'retrying', error: 'timeout', status: null },
    ])
  })

  it('delivers nothing while the webhook is disabled, and pending events later', async () => {
    const enable = (enabled: boolean) =>
      store.transaction((writer) =>
        writer.webhooks.update({ org: 'acme', id: 'w1', url: receiver.url, enabled }, START),
      )
    await enable(false)
    await change('one', 'two')
    await deliverer.deliverDue()
    expect(sequences()).toEqual([])

    await enable(true)
    await deliverer.deliverDue()

    expect(sequences()).toEqual([3, 4])
  })

  it('delivers once with two servers, and takes over from a dead one', async () => {
    await change('one', 'two', 'three', 'four', 'five')
    const other = openSqliteStore(path)
    onTestFinished(() => other.close())

    await Promise.all([deliverer.deliverDue(), createTestDeliverer(other).deliverDue()])
    expect(sequences()).toEqual([3, 4, 5, 6, 7])

    await change('six')
    const until = new Date(clockMs + 60_000).toISOString()
    const lease = { owner: 'died', now: now().toISOString(), until }
    expect(await store.transaction((writer) => writer.deliveries.claim('w1', lease))).toMatchObject(
      { sequence: 8 },
    )
    await pass(59)
    expect(sequences()).toHaveLength(5)
    await pass(1)
    expect(sequences()).toHaveLength(6)
  })

  it('serves other webhooks while a receiver is slow', async () => {
    const slow = await openReceiver()
    slow.replies.push('silence')
    await store.transaction((writer) => writer.webhooks.insert(webhookOf('w0', slow), 2))
    await change('one', 'two', 'three')

    const done = deliverer.deliverDue()
    await Promise.all([slow.count(1), receiver.count(3)])
    await deliverer.stop()
    await done

    expect(sequences()).toHaveLength(3)
  })

  it('serves other organizations while one has slow receivers', async () => {
    const slow = await openReceiver()
    slow.replies.push(...Array.from({ length: 40 }, () => 'silence' as const))
    const names = Array.from({ length: 20 }, (_, index) => `a${index}`)
    await seed(
      store,
      'slow',
      names.map((id) => webhookOf(id, slow)),
    )
    await change('one', 'two', 'three')

    const done = deliverer.deliverDue()
    await Promise.all([slow.count(4), receiver.count(3)])
    await deliverer.stop()
    await done

    expect(slow.received).toHaveLength(4)
    expect(sequences()).toEqual([3, 4, 5])
  })

  it('sends at once to a URL that changes during an attempt', async () => {
    receiver.replies.push('silence')
    await change('one')
    const other = await openReceiver()

    const done = createTestDeliverer(store, 500).deliverDue()
    await receiver.count(1)
    await store.transaction((writer) =>
      writer.webhooks.update({ ...webhookOf('w1', other) }, now().toISOString()),
    )
    await done

    expect(other.received.map(({ headers }) => headers['webhook-id'])).toEqual(ids())
    expect(await deliveries()).toMatchObject([{ sequence: 3, state: 'delivered', attempts: 1 }])
  })

  it('reads once for all events of one turn', async () => {
    const quiet = openSqliteStore(join(temporaryDirectory(), 'server.db'))
    onTestFinished(() => quiet.close())
    await seed(quiet, 'acme', [])
    const first = Promise.withResolvers<void>()
    let looks = 0
    const counted: Store = {
      ...quiet,
      read(work) {
        looks += 1
        first.resolve()
        return quiet.read(work)
      },
    }
    const woken = createTestDeliverer(counted)
    woken.start()
    await first.promise
    looks = 0

    const audited = createAuditedStore({ store: quiet, now, onEvents: () => woken.wake() })
    const names = Array.from({ length: 16 }, (_, index) => `team-${index}`)
    await Promise.all(
      names.map((name) =>
        audited.write(OPERATOR, (writer) => writer.teams.insert({ id: name, org: 'acme', name })),
      ),
    )
    for (let turn = 0; turn < 4; turn += 1) await nextTurn()
    await woken.stop()

    expect(looks).toBe(1)
  })

  it('does not count attempts that it aborts when closed', async () => {
    receiver.replies.push('silence')
    await change('one')
    deliverer.start()
    await receiver.count(1)

    await deliverer.stop()
    await createTestDeliverer(store).deliverDue()

    expect(sequences()).toEqual([3, 3])
    expect(await deliveries()).toMatchObject([{ state: 'delivered', attempts: 1 }])
  })
})
