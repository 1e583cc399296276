import { describe, expect, it } from 'vitest'
import type { DeliveryRecord, EventRecord } from '../../../server/src/store/records.ts'
import type { Store } from '../../../server/src/store/store.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const LATER = '2026-11-21T09:00:00.000Z'
const LATEST = '2026-11-21T10:00:00.000Z'
const ANY = { state: null, limit: 10 }

const webhook = (id: string, org = 'acme') => ({
  id,
  org,
  url: 'https://hooks.example.com/',
  enabled: true,
  secret: 'whsec_x',
  secret_created_at: NOW,
  created_at: NOW,
})
const shown = { previous_secret: null, previous_secret_until: null }
const event = (sequence: number): EventRecord => ({
  org: 'acme',
  sequence,
  at: NOW,
  kind: 'team.created',
  actor: 'operator',
  address: null,
  request_id: null,
  subject: { id: 't', name: 't' },
  before: null,
  after: {},
  revision: 1,
  previous_hash: '',
  hash: `hash ${sequence}`,
})
const delivery = (sequence: number, changes: Partial<DeliveryRecord> = {}): DeliveryRecord => ({
  webhook_id: 'w1',
  sequence,
  state: 'delivered',
  attempts: 1,
  status: 204,
  error: null,
  attempted_at: NOW,
  next_attempt_at: null,
  ...changes,
})

/** Guarantees of every driver for webhooks; `store` holds the seed of `describeStore`. */
export function describeWebhooks(store: () => Store): void {
  const WIDE = { perOrganization: 10, limit: 10 }
  const due = async (now: string, share = WIDE) =>
    (await store().read((reader) => reader.deliveries.due(now, share))).map(({ id }) => id)
  const claim = (owner: string, now: string, until: string) =>
    store().transaction((writer) => writer.deliveries.claim('w1', { owner, now, until }))
  const seed = () =>
    store().transaction(async (writer) => {
      await writer.events.append('acme', [event(1), event(2), event(3)])
      await writer.webhooks.insert(webhook('w1'), 1)
    })

  describe('webhooks', () => {
    it('belong to one organization and change only there', async () => {
      await store().transaction(async (writer) => {
        const { webhooks } = writer
        await webhooks.insert(webhook('w1'), 0)
        await webhooks.insert(webhook('w2', 'rival'), 0)
        const change = { id: 'w1', url: 'https://other.example.com/', enabled: false }
        await webhooks.update({ org: 'acme', ...change }, NOW)
        const secret = { id: 'w1', secret: 'whsec_y', at: LATER, previousUntil: LATEST }
        await webhooks.replaceSecret({ org: 'acme', ...secret })
      })

      await store().read(async ({ webhooks }) => {
        expect(await webhooks.list('acme')).toEqual([
          {
            ...webhook('w1'),
            url: 'https://other.example.com/',
            enabled: false,
            secret: 'whsec_y',
            secret_created_at: LATER,
            previous_secret: 'whsec_x',
            previous_secret_until: LATEST,
          },
        ])
        expect(await webhooks.find('rival', 'w2')).toEqual({ ...webhook('w2', 'rival'), ...shown })
        expect(await webhooks.find('acme', 'w2')).toBeNull()
      })
      const foreign = store().transaction((writer) => writer.webhooks.delete('acme', 'w2'))
      await expect(foreign).rejects.toMatchObject({ code: 'ERR_STORE_NOT_FOUND' })
    })

    it('are claimed by one server at a time, until the lease ends', async () => {
      await seed()
      expect(await due(NOW)).toEqual(['w1'])

      expect(await claim('a', NOW, LATER)).toEqual({
        webhook: { ...webhook('w1'), ...shown },
        sequence: 2,
        attempts: 0,
        isAgain: false,
      })

      expect(await due(NOW)).toEqual([])
      expect(await claim('b', NOW, LATER)).toBeNull()
      expect(await claim('b', LATER, LATEST)).toMatchObject({ sequence: 2 })
      const settle = (owner: string) =>
        store().transaction((writer) =>
          writer.deliveries.settle(owner, delivery(2), {
            delivered_sequence: 2,
            attempts: 0,
            next_attempt_at: LATER,
          }),
        )
      expect(await settle('a')).toBe(false)
      expect(await store().read((reader) => reader.deliveries.list('w1', ANY))).toEqual([])
      expect(await settle('b')).toBe(true)
      expect(await store().read((reader) => reader.deliveries.position('w1'))).toBe(2)
      expect(await claim('a', LATER, LATEST)).toMatchObject({ sequence: 3 })
    })

    it('are free again after a change, which discards running deliveries', async () => {
      await seed()
      await claim('a', NOW, LATER)
      const { org, id } = webhook('w1')
      const change = { org, id, url: 'https://other.example.com/', enabled: true }

      await store().transaction((writer) => writer.webhooks.update(change, NOW))

      expect(await due(NOW)).toEqual(['w1'])
      const position = { delivered_sequence: 1, attempts: 1, next_attempt_at: LATER }
      const kept = await store().transaction((writer) =>
        writer.deliveries.settle('a', delivery(2, { state: 'retrying' }), position),
      )
      expect(kept).toBe(false)
      expect(await claim('a', NOW, LATER)).toMatchObject({
        sequence: 2,
        attempts: 0,
        webhook: { url: change.url },
      })
    })

    it('are due by organization in turn, with a limit for each', async () => {
      await seed()
      await store().transaction(async (writer) => {
        await writer.events.append('rival', [{ ...event(1), org: 'rival' }])
        for (const id of ['w2', 'w3', 'w4']) await writer.webhooks.insert(webhook(id), 1)
        await writer.webhooks.insert(webhook('w5', 'rival'), 0)
      })

      expect(await due(NOW)).toEqual(['w1', 'w5', 'w2', 'w3', 'w4'])
      expect(await due(NOW, { perOrganization: 2, limit: 10 })).toEqual(['w1', 'w5', 'w2'])
      expect(await due(NOW, { perOrganization: 10, limit: 2 })).toEqual(['w1', 'w5'])
      expect(await store().read((reader) => reader.deliveries.due(NOW, WIDE))).toContainEqual({
        id: 'w5',
        org: 'rival',
      })
    })

    it('are claimed once by concurrent servers', async () => {
      await seed()

      const claims = await Promise.all(
        Array.from({ length: 10 }, (_, index) => claim(`${index}`, NOW, LATER)),
      )

      expect(claims.filter((found) => found !== null)).toHaveLength(1)
    })

    it('are due at their next attempt, but not if disabled or up to date', async () => {
      await seed()
      await claim('a', NOW, LATER)
      const retrying = delivery(2, { state: 'retrying', status: 500, next_attempt_at: LATER })
      const position = { delivered_sequence: 1, attempts: 1, next_attempt_at: LATER }
      await store().transaction((writer) => writer.deliveries.settle('a', retrying, position))

      expect([await due(NOW), await due(LATER)]).toEqual([[], ['w1']])
      expect(await claim('a', LATER, LATEST)).toMatchObject({ sequence: 2, attempts: 1 })
      await store().transaction((writer) => writer.deliveries.release('w1', 'a'))
      const { org, id, url } = webhook('w1')
      await store().transaction((writer) =>
        writer.webhooks.update({ org, id, url, enabled: false }, LATER),
      )
      expect(await due(LATER)).toEqual([])
    })

    it('send pending redeliveries first', async () => {
      await seed()
      const again = delivery(1, { state: 'pending', attempts: 0, status: null, attempted_at: null })
      await store().transaction((writer) => writer.deliveries.put(again))

      expect(await claim('a', NOW, LATER)).toMatchObject({ sequence: 1, isAgain: true })
      await store().transaction((writer) => writer.deliveries.settle('a', delivery(1), null))

      expect(await claim('a', NOW, LATER)).toMatchObject({ sequence: 2, isAgain: false })
    })

    it('keep the newest deliveries, and delete them with the webhook', async () => {
      await seed()
      await store().transaction(async ({ deliveries }) => {
        await deliveries.put(delivery(1))
        await deliveries.put(delivery(2, { state: 'dead', status: null, error: 'timeout' }))
        await deliveries.put(delivery(150))
      })
      await claim('a', NOW, LATER)
      const position = { delivered_sequence: 151, attempts: 0, next_attempt_at: NOW }
      await store().transaction((writer) => writer.deliveries.settle('a', delivery(151), position))

      const list = (state: 'dead' | null) =>
        store().read((reader) => reader.deliveries.list('w1', { state, limit: 10 }))
      expect((await list(null)).map(({ sequence }) => sequence)).toEqual([151, 150, 2])
      expect(await list('dead')).toEqual([
        { ...delivery(2, { state: 'dead', status: null, error: 'timeout' }), hash: 'hash 2' },
      ])
      await store().transaction(({ deliveries }) =>
        deliveries.put(delivery(150, { state: 'pending' })),
      )
      const countPending = (id: string) =>
        store().read(({ deliveries }) => deliveries.countPending(id))
      expect([await countPending('w1'), await countPending('w2')]).toEqual([1, 0])
      expect((await list(null))[0]).toEqual({ ...delivery(151), hash: null })
      const before = { state: null, before: 151, limit: 1 }
      expect(await store().read((reader) => reader.deliveries.list('w1', before))).toMatchObject([
        { sequence: 150 },
      ])
      await store().transaction((writer) => writer.webhooks.delete('acme', 'w1'))
      expect(await list(null)).toEqual([])
    })
  })
}
