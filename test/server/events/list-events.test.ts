import type { ListEventsResponse } from '@palisade/protocol'
import Database from 'better-sqlite3'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Caller } from '../../../server/src/identity/principal.ts'
import {
  createAuditedStore,
  type AuditedStore,
} from '../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../server/src/history/author.ts'
import { listEvents } from '../../../server/src/events/list-events.ts'
import { createAnswerTurns, type AnswerTurns } from '../../../server/src/work/answer-turns.ts'
import {
  createWorkBudget,
  type Payer,
  type WorkBudget,
} from '../../../server/src/work/work-budget.ts'
import type { EventRecord } from '../../../server/src/store/records.ts'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const NOW = '2026-11-21T08:00:00.000Z'

const reader: Caller = {
  kind: 'organization',
  org: 'acme',
  tokenId: 't',
  rootTokenId: 't',
  permissions: ['audit:read'],
  author: OPERATOR,
}

/** The feed of a history with the creation of an organization and then of these teams. */
async function historyOf(...teams: string[]) {
  const store = openSqliteStore(join(temporaryDirectory(), 'server.db'))
  onTestFinished(() => store.close())
  const audited = createAuditedStore({ store, now: () => new Date(NOW) })
  await audited.write(OPERATOR, async (writer) => {
    const settings = { entitled: true, resolve_unlisted_names: false, created_at: NOW }
    await writer.organizations.insert({ name: 'acme', ...settings })
  })
  for (const name of teams)
    await audited.write(OPERATOR, (writer) => writer.teams.insert({ id: name, org: 'acme', name }))
  return feedOf(audited).list
}

type FeedDeps = Parameters<typeof listEvents>[0]
type Query = Parameters<typeof listEvents>[3]

function feedOf(store: FeedDeps['store'], budget: FeedDeps['budget'] = createWorkBudget()) {
  const given = { store, budget, pageTokenKey: new Uint8Array(32), turns: createAnswerTurns() }
  return {
    store,
    async list(query: Query, others: Partial<FeedDeps> = {}): Promise<ListEventsResponse> {
      const { body } = await listEvents({ ...given, ...others }, reader, 'acme', query)
      return JSON.parse(String(body))
    },
  }
}

it('continues in a restored history after an event that it still has', async () => {
  const lost = await historyOf('one', 'lost')
  const restored = await historyOf('one', 'new', 'newer')
  const { next_cursor } = await lost({ page_size: '2' })

  const { data } = await restored({ cursor: next_cursor })

  expect(data.map(({ subject }) => subject.name)).toEqual(['new', 'newer'])
})

it.each([
  ['that a restore undid', ['one', 'new', 'newer']],
  ['beyond the newest', ['one']],
])('refuses a cursor after an event %s, and says what to do', async (_title, teams) => {
  const lost = await historyOf('one', 'lost')
  const restored = await historyOf(...teams)

  // With a filter, the cursor may be after an event that was not shown.
  for (const query of [{}, { kind: 'policy.created' as const }]) {
    const { next_cursor } = await lost(query)
    await expect(restored({ ...query, cursor: next_cursor })).rejects.toMatchObject({
      status: 400,
      code: 'invalid_argument',
      message: expect.stringContaining('start without `cursor`'),
    })
  }
})

describe('a history of large events', () => {
  /** Appends events of 300 KB to the organization's own, and counts the rows that are read. */
  async function largeHistory(events: number) {
    const store = openSqliteStore(join(temporaryDirectory(), 'server.db'))
    onTestFinished(() => store.close())
    const after = { rules: 'x'.repeat(300_000) }
    await store.transaction(async (writer) => {
      const settings = { entitled: true, resolve_unlisted_names: false, created_at: NOW }
      await writer.organizations.insert({ name: 'acme', ...settings })
      const all = Array.from({ length: events }, (_, index) => largeEvent(index + 1, after))
      await writer.events.append('acme', all)
    })
    const reads: number[] = []
    const counted: Pick<AuditedStore, 'read'> = {
      read: (work) =>
        store.read((reader) =>
          work({
            ...reader,
            events: {
              ...reader.events,
              list: () => Promise.reject(new Error('a row is read whole and taken apart')),
              async listTexts(org, page) {
                const found = await reader.events.listTexts(org, page)
                reads.push(found.length)
                return found
              },
            },
          }),
        ),
    }
    const charges: Payer[] = []
    const begin: WorkBudget['begin'] = (payer) => {
      charges.push(payer)
      return createWorkBudget().begin(payer)
    }
    const feed = feedOf(counted, { begin })
    return { ...feed, reads, charges }
  }

  it('is read one event at a time, and only as far as the answer needs', async () => {
    const { list, reads } = await largeHistory(40)

    const page = await list({ page_size: '100' })

    expect(page.data.map(({ sequence }) => sequence)).toEqual([1, 2, 3])
    expect(page.has_more).toBe(true)
    expect(reads).toEqual([1, 1, 1])
  })

  it('is charged to the caller, unlike a small page', async () => {
    const { list, charges } = await largeHistory(2)

    await list({ kind: 'team.created' })
    expect(charges).toEqual([])
    await list({})

    const payer = { org: 'acme', caller: 'organization:acme:t', isWriter: false }
    expect(charges).toEqual([payer])
  })

  it('is refused to a caller with an exhausted budget', async () => {
    const limits = {
      organization: { burstMs: 1000, perSecondMs: 1 },
      caller: { burstMs: 500, perSecondMs: 1 },
      reservedMs: 0,
    }
    const budget = createWorkBudget({ limits, clockMs: () => 0 })
    const { store } = await largeHistory(2)
    const { list } = feedOf(store, budget)
    const payer = { org: 'acme', caller: 'organization:acme:t', isWriter: false }
    await expect(list({})).resolves.toMatchObject({ has_more: false })
    budget.begin(payer).charge(1000)

    await expect(list({})).rejects.toMatchObject({ status: 429, code: 'limit_exceeded' })
    await expect(list({ kind: 'team.created' })).resolves.toMatchObject({ data: [] })
  })

  it('is read for one caller of the organization at a time', async () => {
    const { list, reads } = await largeHistory(3)
    let running = 0
    let most = 0
    const turns = createAnswerTurns()
    const counted: AnswerTurns = {
      run: (org, work, caller) =>
        turns.run(
          org,
          async () => {
            most = Math.max(most, (running += 1))
            try {
              return await work()
            } finally {
              running -= 1
            }
          },
          caller,
        ),
    }

    const pages = await Promise.all([1, 2, 3].map(() => list({}, { turns: counted })))

    expect(most).toBe(1)
    expect(reads).toHaveLength(9)
    for (const page of pages) expect(page).toEqual(pages[0])
  })

  it('is read completely, page by page, each event once', async () => {
    const { list } = await largeHistory(10)
    const sequences: number[] = []

    let page = await list({})
    for (;;) {
      sequences.push(...page.data.map(({ sequence }) => sequence))
      if (!page.has_more) break
      page = await list({ cursor: page.next_cursor })
    }

    expect(sequences).toEqual(Array.from({ length: 10 }, (_, index) => index + 1))
  })
})

it('fills a page from many slices, also with a filter', async () => {
  const names = Array.from({ length: 30 }, (_, index) => `t${index}`)
  const list = await historyOf(...names)

  const all = await list({})
  const first = await list({ kind: 'team.created', page_size: '20' })
  const rest = await list({ kind: 'team.created', cursor: first.next_cursor })

  expect(all.data).toHaveLength(31)
  expect(all.has_more).toBe(false)
  expect(first.data.map(({ subject }) => subject.name)).toEqual(names.slice(0, 20))
  expect(rest.data.map(({ subject }) => subject.name)).toEqual(names.slice(20))
  expect([first.has_more, rest.has_more]).toEqual([true, false])
})

it('shows an event with a damaged state, and all others', async () => {
  const path = join(temporaryDirectory(), 'server.db')
  const store = openSqliteStore(path)
  onTestFinished(() => store.close())
  await store.transaction(async (writer) => {
    const settings = { entitled: true, resolve_unlisted_names: false, created_at: NOW }
    await writer.organizations.insert({ name: 'acme', ...settings })
    await writer.events.append(
      'acme',
      [1, 2, 3].map((sequence) => largeEvent(sequence, { sequence })),
    )
  })
  const database = new Database(path)
  database.exec(`UPDATE events SET after_state = '{"cut' WHERE sequence = 1`)
  database.exec(`UPDATE events SET after_state = '["a list"]' WHERE sequence = 2`)
  database.close()

  const { data } = await feedOf(store).list({})

  expect(data.map(({ after }) => after)).toEqual([
    { unreadable: '{"cut' },
    { unreadable: '["a list"]' },
    { sequence: 3 },
  ])
})

function largeEvent(sequence: number, after: Record<string, unknown>): EventRecord {
  return {
    org: 'acme',
    sequence,
    at: NOW,
    kind: 'policy.updated',
    actor: 'operator',
    address: null,
    request_id: null,
    subject: { id: 'p', name: 'p' },
    before: null,
    after,
    revision: 1,
    previous_hash: '',
    hash: `${sequence}`,
  }
}
