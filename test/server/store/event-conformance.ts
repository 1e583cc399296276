import { describe, expect, it } from 'vitest'
import type { EventRecord } from '../../../server/src/store/records.ts'
import type { Store } from '../../../server/src/store/store.ts'
import type { EventPage } from '../../../server/src/store/aggregates/history/event-contract.ts'

const ALL: EventPage = { after: 0, through: Number.MAX_SAFE_INTEGER, limit: 100 }

function event(sequence: number, changes: Partial<EventRecord> = {}): EventRecord {
  return {
    org: 'acme',
    sequence,
    at: '2026-11-21T08:00:00.000Z',
    kind: 'team.created',
    actor: 'user:ann',
    address: '192.0.2.7',
    request_id: 'req_1',
    subject: { id: 't', name: 'Ünïcode ✓' },
    before: null,
    after: { id: 't', nested: { list: [1, 'two', null, true] } },
    revision: sequence,
    previous_hash: `hash ${sequence - 1}`,
    hash: `hash ${sequence}`,
    ...changes,
  }
}

/** Guarantees of every driver for the history; `store` holds the seed of `describeStore`. */
export function describeEvents(store: () => Store): void {
  const append = (org: string, ...events: EventRecord[]) =>
    store().transaction((writer) => writer.events.append(org, events))
  const list = (page: Partial<EventPage>, org = 'acme') =>
    store().read((reader) => reader.events.list(org, { ...ALL, ...page }))
  const head = (org: string) => store().read((reader) => reader.events.head(org))

  describe('events', () => {
    it('are read as they were appended, by sequence', async () => {
      const first = event(1)
      const second = event(2, {
        kind: 'rule.deleted',
        actor: 'operator',
        address: null,
        request_id: null,
        subject: { id: 'r', name: null, policy_id: 'p' },
        before: { id: 'r' },
        after: null,
      })

      await append('acme', first)
      await append('acme', second)

      expect(await list({})).toEqual([first, second])
    })

    it('are read as the text that the list shows', async () => {
      const second = event(2, { before: { a: '\u2028 "\\ \ud83d' }, after: null, address: null })
      await append('acme', event(1), second)

      const texts = await store().read((reader) => reader.events.listTexts('acme', ALL))

      const listed = await list({})
      expect(texts.map(({ text }) => text)).toEqual(listed.map((each) => JSON.stringify(each)))
      expect(texts).toMatchObject([
        { sequence: 1, hash: 'hash 1' },
        { sequence: 2, hash: 'hash 2' },
      ])
    })

    it('are measured by the bytes of their texts, within the same bounds', async () => {
      const large = event(2, { kind: 'rule.updated', before: { text: 'ü'.repeat(10_000) } })
      await append('acme', event(1), large, event(3, { before: null, after: null }))
      const measure = (page: Partial<EventPage>) =>
        store().read((reader) => reader.events.measure('acme', { ...ALL, ...page }))

      const sizes = await measure({})

      const texts = await store().read((reader) => reader.events.listTexts('acme', ALL))
      expect(sizes.map(({ sequence }) => sequence)).toEqual([1, 2, 3])
      for (const [index, { bytes }] of sizes.entries()) {
        const exact = Buffer.byteLength(texts[index]?.text ?? '')
        expect(bytes).toBeGreaterThan(exact - 500)
        expect(bytes).toBeLessThanOrEqual(exact)
      }
      expect(await measure({ kind: 'rule.updated' })).toEqual([sizes[1]])
      expect(await measure({ after: 1, limit: 1 })).toEqual([sizes[1]])
    })

    it('are found by their hashes', async () => {
      await append('acme', event(1), event(2))
      const hashOf = (sequence: number, org = 'acme') =>
        store().read((reader) => reader.events.hashAt(org, sequence))

      expect(await hashOf(2)).toBe('hash 2')
      expect(await hashOf(3)).toBeNull()
      expect(await hashOf(1, 'rival')).toBeNull()
    })

    it('move only the head of their organization', async () => {
      expect(await head('acme')).toBeNull()

      await append('acme', event(1), event(2))

      expect(await head('acme')).toEqual({ sequence: 2, hash: 'hash 2' })
      expect(await head('rival')).toBeNull()
      expect(await list({}, 'rival')).toEqual([])
    })

    it('are filtered by range, kind, actor and time together', async () => {
      const at = (second: number) => `2026-11-21T08:00:0${second}.000Z`
      const events = [1, 2, 3, 4, 5, 6].map((sequence) =>
        event(sequence, {
          at: at(sequence),
          kind: sequence % 2 === 0 ? 'team.created' : 'team.deleted',
          actor: sequence > 3 ? 'user:ann' : 'user:bob',
        }),
      )
      await append('acme', ...events)

      const sequences = async (page: Partial<EventPage>) =>
        (await list(page)).map(({ sequence }) => sequence)
      expect(await sequences({ after: 2, through: 5 })).toEqual([3, 4, 5])
      expect(await sequences({ limit: 2 })).toEqual([1, 2])
      expect(await sequences({ kind: 'team.created' })).toEqual([2, 4, 6])
      expect(await sequences({ actor: 'user:bob' })).toEqual([1, 2, 3])
      expect(await sequences({ since: at(3), until: at(5) })).toEqual([3, 4])
      expect(await sequences({ kind: 'team.created', actor: 'user:ann', since: at(5) })).toEqual([
        6,
      ])
    })

    it('never share a sequence number', async () => {
      await append('acme', event(1))

      await expect(append('acme', event(1, { hash: 'other' }))).rejects.toMatchObject({
        code: 'ERR_STORE_CONFLICT',
      })
      expect(await head('acme')).toEqual({ sequence: 1, hash: 'hash 1' })
    })

    it('are removed up to a checkpoint, which keeps their state', async () => {
      await append('acme', event(1), event(2), event(3))
      await append('rival', event(1, { org: 'rival' }))
      const checkpoint = { sequence: 2, hash: 'hash 2', is_whole: true }
      const prune = (items: [string, string | null][], to = checkpoint) =>
        store().transaction((writer) =>
          writer.events.prune('acme', {
            checkpoint: to,
            items: new Map(items),
            last_removed_at: event(1).at,
            at: event(1).at,
          }),
        )

      expect(
        await prune([
          ['b', '1'],
          ['a', '2'],
          ['c', '3'],
        ]),
      ).toEqual([])
      const later = { sequence: 3, hash: 'hash 3', is_whole: false }
      await prune(
        [
          ['b', '4'],
          ['c', null],
        ],
        later,
      )

      await store().read(async ({ events }) => {
        expect(await events.checkpoint('acme')).toEqual(later)
        expect(await events.checkpoint('rival')).toBeNull()
        expect(await events.listItems('acme', { after: '', limit: 9 })).toEqual([
          { item: 'a', recorded: '2' },
          { item: 'b', recorded: '4' },
        ])
        expect(await events.listItems('acme', { after: 'a', limit: 1 })).toEqual([
          { item: 'b', recorded: '4' },
        ])
      })
      expect(await list({})).toEqual([])
      expect(await head('acme')).toEqual({ sequence: 3, hash: 'hash 3' })
      expect(await list({}, 'rival')).toHaveLength(1)
    })

    it('are counted in bytes until their removal', async () => {
      const bytes = (org = 'acme') => store().read(({ events }) => events.bytes(org))
      const long = { text: 'ü'.repeat(1000) }
      const size = ({ subject, before, after }: EventRecord): number =>
        [subject, before, after].reduce(
          (sum, state) => sum + (state === null ? 0 : Buffer.byteLength(JSON.stringify(state))),
          512,
        )
      const events = [1, 2, 3, 4, 5].map((sequence) =>
        event(sequence, sequence % 2 === 0 ? { before: long, after: null } : {}),
      )
      const sizeFrom = (first: number, last: number): number =>
        events.slice(first - 1, last).reduce((sum, one) => sum + size(one), 0)
      const prune = (sequence: number) =>
        store().transaction((writer) =>
          writer.events.prune('acme', {
            checkpoint: { sequence, hash: `hash ${sequence}`, is_whole: true },
            items: new Map(),
            last_removed_at: event(1).at,
            at: event(1).at,
          }),
        )
      expect(await bytes()).toBe(0)

      await append('acme', ...events.slice(0, 1))
      expect(await bytes()).toBe(sizeFrom(1, 1))
      await append('acme', ...events.slice(1, 3))
      expect(await bytes()).toBe(sizeFrom(1, 3))
      await store().transaction(async (writer) => {
        await writer.events.append('acme', events.slice(3, 4))
        await writer.events.append('acme', events.slice(4, 5))
        expect(await writer.events.bytes('acme')).toBe(sizeFrom(1, 5))
      })
      await prune(2)
      expect(await bytes()).toBe(sizeFrom(3, 5))
      await append('acme', event(6))
      await prune(5)

      expect(await bytes()).toBe(size(event(6)))
      expect(await bytes('rival')).toBe(0)
    })

    it('are rolled back with their transaction', async () => {
      const attempt = store().transaction(async (writer) => {
        await writer.events.append('acme', [event(1)])
        throw new Error('stop')
      })

      await expect(attempt).rejects.toThrow('stop')
      expect(await head('acme')).toBeNull()
    })
  })
}
