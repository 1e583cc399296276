import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  createAuditedStore,
  type AuditedStore,
} from '../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import { EMPTY_HISTORY, hashEvent } from '../../../server/src/history/event-hash.ts'
import { pruneHistory } from '../../../server/src/history/prune-history.ts'
import {
  describeFaults,
  verifyOrganization,
} from '../../../server/src/history/verify-organization.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { openTestStore } from '../store/test-store.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { LATER, TEAM } from './audit/audited-records.ts'
import { furnish } from './furnished-organization.ts'

const START_MS = Date.parse('2026-11-21T08:00:00.000Z')
const DAY_MS = 86_400_000

describe('removing the oldest events', () => {
  let store: Store
  let audited: AuditedStore
  let day: number

  beforeEach(async () => {
    const opened = await openTestStore(temporaryDirectory())
    onTestFinished(() => opened.discard())
    store = opened.store
    day = 0
    audited = createAuditedStore({ store, now })
    await audited.write(OPERATOR, furnish)
  })

  const now = () => new Date(START_MS + day * DAY_MS)
  const dayOf = (number: number) => new Date(START_MS + number * DAY_MS).toISOString()
  /** Removes events of days before `before`, even undelivered ones. */
  const prune = (before: number, undeliveredBefore = before) =>
    pruneHistory(
      { store: audited, now },
      'acme',
      { before: dayOf(before), undeliveredBefore: dayOf(undeliveredBefore) },
      OPERATOR,
    )
  const list = () =>
    store.read((reader) =>
      reader.events.list('acme', { after: 0, through: Number.MAX_SAFE_INTEGER, limit: 9999 }),
    )
  const verify = (noted?: string) =>
    store.read((reader) => verifyOrganization(reader, 'acme', { state: true, noted }))
  const faults = async () => describeFaults(await verify())
  async function addTeam(id: string): Promise<void> {
    await audited.write(OPERATOR, (writer) => writer.teams.insert({ id, org: 'acme', name: id }))
  }

  it('keeps the chain and the recorded state', async () => {
    const before = await list()
    day = 10
    await addTeam('new')

    const outcome = await prune(5)

    expect(outcome).toMatchObject({ ok: true, removed: before.length })
    const [first, removal] = await list()
    expect(first).toMatchObject({ kind: 'team.created', previous_hash: before.at(-1)?.hash })
    expect(removal).toMatchObject({
      kind: 'history.pruned',
      actor: 'operator',
      before: null,
      after: { removed_through: before.length, hash: before.at(-1)?.hash, is_whole: true },
    })
    expect(removal?.after).toHaveProperty('last_removed_at', before.at(-1)?.at)
    expect(await verify()).toEqual({
      history: {
        intact: true,
        org: 'acme',
        head: { sequence: removal?.sequence, hash: removal?.hash },
        removed_through: before.length,
      },
      differences: [],
    })
  })

  it('continues after an earlier removal and later changes', async () => {
    for (day = 1; day < 6; day += 1) {
      await addTeam(`team ${day}`)
      if (day === 3) await audited.write(OPERATOR, (writer) => writer.teams.delete('acme', TEAM))
      if (day === 2)
        await audited.write(OPERATOR, (writer) => writer.policies.delete('acme', 'pol_1'))
      expect(await prune(day)).toMatchObject({ ok: true })
      expect(await faults()).toEqual([])
    }
    const [first] = await list()
    expect(first?.at).toBe(dayOf(5))
  })

  it('reads and deletes large events few at a time', async () => {
    day = 1
    const large = 5 * 2 ** 20
    await store.transaction(async ({ events, organizations }) => {
      const revision = (await organizations.find('acme'))?.revision ?? 0
      for (let count = 0; count < 7; count += 1) {
        const head = (await events.head('acme')) ?? EMPTY_HISTORY
        const event = {
          org: 'acme',
          sequence: head.sequence + 1,
          at: now().toISOString(),
          kind: 'rollout.rolled_back' as const,
          ...OPERATOR,
          subject: { id: 'r', name: 'r' },
          before: null,
          after: { text: 'x'.repeat(large) },
          revision,
          previous_hash: head.hash,
        }
        await events.append('acme', [{ ...event, hash: hashEvent(event) }])
      }
    })
    day = 3
    await addTeam('new')
    const reads: number[] = []
    const steps: number[] = []
    const counted: AuditedStore = {
      ...audited,
      read: (work) =>
        audited.read((reader) =>
          work({
            ...reader,
            events: {
              ...reader.events,
              async list(org, page) {
                const found = await reader.events.list(org, page)
                if (page.kind === undefined) reads.push(JSON.stringify(found).length)
                return found
              },
            },
          }),
        ),
      async write(author, work) {
        const before = (await list()).length
        const result = await audited.write(author, work)
        steps.push(before + 1 - (await list()).length)
        return result
      },
    }

    const before = { before: dayOf(2), undeliveredBefore: dayOf(2) }
    const outcome = await pruneHistory({ store: counted, now }, 'acme', before, OPERATOR)

    expect(outcome).toMatchObject({ ok: true })
    // At most one large event is read at once, and four are deleted in one transaction.
    expect(Math.max(...reads)).toBeLessThan(large * 1.5)
    expect(steps).toHaveLength(2)
    expect(steps[1]).toBe(3)
    expect(await faults()).toEqual([])
  })

  it('detects changes made without the server after their events were removed', async () => {
    day = 1
    await addTeam('new')
    await prune(1)

    await store.transaction(async (writer) => {
      await writer.memberships.updateRole('acme', 'bob', 'owner')
      await writer.memberships.insert({ org: 'acme', username: 'cid', role: 'owner' })
    })

    expect(await faults()).toEqual([
      expect.stringMatching(/member `bob`: `role` not as in event \d+$/),
      expect.stringMatching(/member `cid`: stored, but no event created it$/),
    ])
  })

  it.each<[string, (last: string) => { sequence: number; hash: string }, string]>([
    ['a checkpoint of another event', () => ({ sequence: 1, hash: 'x' }), 'follow'],
    [
      'a matching checkpoint without an event',
      (hash) => ({ sequence: 1, hash }),
      'does not match the event of the removal',
    ],
  ])('is distinguished from %s', async (_title, checkpointOf, fault) => {
    const [first] = await list()
    const checkpoint = { ...checkpointOf(first?.hash ?? ''), is_whole: true }

    await store.transaction((writer) =>
      writer.events.prune('acme', {
        checkpoint,
        items: new Map(),
        last_removed_at: LATER,
        at: LATER,
      }),
    )

    expect(await faults()).toEqual([expect.stringContaining(fault)])
    expect(await prune(9)).toMatchObject({ ok: false })
  })

  it('detects an edited recorded state, and refuses to continue from it', async () => {
    day = 1
    await addTeam('new')
    await prune(1)
    const { checkpoint, items } = await store.read(async ({ events }) => ({
      checkpoint: await events.checkpoint('acme'),
      items: await events.listItems('acme', { after: 'member bo', limit: 1 }),
    }))
    if (checkpoint === null) throw new Error('nothing was removed')
    const [bob] = items
    const forged = new Map([[bob?.item ?? '', bob?.recorded.replace('bob', 'eve') ?? '']])

    await store.transaction((writer) =>
      writer.events.prune('acme', { checkpoint, items: forged, last_removed_at: LATER, at: LATER }),
    )

    expect(await faults()).toEqual([
      expect.stringContaining('does not match the event of the removal'),
    ])
    day = 9
    await addTeam('newer')
    expect(await prune(9)).toEqual({ ok: false, sequence: checkpoint.sequence })
  })

  it('keeps the newest event, and records no event if there is nothing to remove', async () => {
    day = 9
    const before = await list()

    expect(await prune(5)).toMatchObject({ removed: before.length - 1 })
    const kept = await list()
    expect(kept.map(({ sequence }) => sequence)).toEqual([before.length, before.length + 1])
    day = 99
    expect(await prune(98)).toMatchObject({ removed: 1 })
    for (day = 199; day < 202; day += 1) expect(await prune(day - 1)).toMatchObject({ removed: 0 })
    expect(await list()).toHaveLength(2)
    expect(await faults()).toEqual([])
  })

  it('removes many events in thousands, with an event for each removal', async () => {
    await audited.write(OPERATOR, async (writer) => {
      for (let index = 0; index < 2100; index += 1)
        await writer.teams.insert({ id: `t${index}`, org: 'acme', name: `t${index}` })
    })
    day = 1
    await addTeam('new')

    await prune(1)

    const kinds = (await list()).map(({ kind }) => kind)
    expect(kinds).toEqual(['team.created', ...Array.from({ length: 3 }, () => 'history.pruned')])
    expect(await faults()).toEqual([])
  })

  it('waits for a webhook, but only for a limited time', async () => {
    const all = (await list()).length
    day = 3
    await addTeam('new')

    expect(await prune(2, -1)).toEqual({ ok: true, removed: 0, skipped: [], waits: true })
    expect(await list()).toHaveLength(all + 1)

    const skipped = [{ webhook_id: 'w0', events: all }]
    expect(await prune(2, 1)).toEqual({ ok: true, removed: all, skipped, waits: false })
    await store.read(async ({ deliveries }) => {
      expect(await deliveries.position('w0')).toBe(all)
      const page = { state: 'dead' as const, limit: 10 }
      expect(await deliveries.list('w0', page)).toEqual([
        expect.objectContaining({ sequence: all, error: 'history_removed', attempts: 0 }),
      ])
    })
    expect((await list()).at(-1)?.after).toMatchObject({ skipped })
  })

  it('removes only events delivered to the slowest webhook', async () => {
    await store.transaction(async (writer) => {
      const made = { secret: 's', secret_created_at: LATER, created_at: LATER }
      const webhook = { id: 'w1', org: 'acme', url: 'https://x.example/', enabled: true, ...made }
      await writer.webhooks.delete('acme', 'w0')
      await writer.webhooks.insert(webhook, 3)
    })
    day = 3

    expect(await prune(2, -1)).toEqual({ ok: true, removed: 3, skipped: [], waits: true })
  })
})
