import type { ListEventsQuery } from '@palisade/protocol'
import { authorize } from '../identity/authorize.ts'
import { payerOf } from '../identity/payer.ts'
import type { Caller } from '../identity/principal.ts'
import { concatInTurns } from '../work/concat-in-turns.ts'
import type { Answer } from '../http/answer.ts'
import { gone, invalidArgument } from '../platform/api-error.ts'
import {
  formatPageToken,
  readPageSize,
  readPageToken,
  type PageList,
} from '../http/input/page-token.ts'
import { nextTurn } from '../platform/next-turn.ts'
import type { AnswerTurns } from '../work/answer-turns.ts'
import type { Payer, Work, WorkBudget } from '../work/work-budget.ts'
import type { EventPage } from '../store/aggregates/history/event-contract.ts'
import type { StoreReader } from '../store/store.ts'
import type { AuditedStore } from '../history/audit/audited-store.ts'
import { EMPTY_HISTORY } from '../history/event-hash.ts'
import { planSlices, type EventSlice } from '../history/event-slices.ts'

/** Bounds an answer: the event of a deleted policy has all its rules, up to 400 KB. */
const MAX_PAGE_BYTES = 1024 * 1024
/** Events that one request examines, by an index; its filter may pass only a few. */
const WINDOW = 10_000

const JSON_MEDIA_TYPE = 'application/json; charset=utf-8'

export interface EventFeedDeps {
  readonly store: Pick<AuditedStore, 'read'>
  readonly budget: Pick<WorkBudget, 'begin'>
  readonly turns: AnswerTurns
  readonly pageTokenKey: Uint8Array
}

/**
 * Answers with one page of an organization's history as JSON. The page is read in slices, each from
 * its own snapshot, in which the caller is authorized again. Sizes are measured first, so that only
 * events of the page are read. A page of several slices waits for its organization's turn and is
 * charged to the caller's budget. Throws ApiError, including 429.
 */
export async function listEvents(
  { store, budget, turns, pageTokenKey }: EventFeedDeps,
  caller: Caller,
  org: string,
  query: ListEventsQuery,
): Promise<Answer> {
  const list: PageList = { of: 'events', owner: org, parameter: 'cursor' }
  const read: AuthorizedRead = (work) =>
    store.read(async (reader) => {
      const access = await authorize(reader, caller, org, 'audit:read')
      return work(reader, payerOf(caller, access))
    })
  const plan = await read(async (reader, payer) => {
    const after = await readStart(
      reader,
      org,
      (cursor) => readPageToken(pageTokenKey, list, cursor),
      query,
    )
    const newest = (await reader.events.head(org))?.sequence ?? 0
    const page = pageOf(query, after, newest)
    const sizes = await reader.events.measure(org, page)
    return { page, newest, payer, ...planSlices(sizes, page.limit, MAX_PAGE_BYTES) }
  })
  const { page, newest, payer, slices } = plan
  const seen = plan.isWhole ? page.through : (slices.at(-1)?.through ?? page.after)

  async function answer(work: Pick<Work, 'turn'>): Promise<Answer> {
    const texts = await readTexts(read, org, { page, slices, work })
    const { cursor, removed } = await read(async (reader) => ({
      // Retention may have removed events of this page meanwhile.
      removed: await requireKept(reader, org, page.after),
      cursor: await formatCursor(reader, org, seen),
    }))
    const removedThrough = removed === 0 ? '' : `"removed_through":${removed},`
    const next = JSON.stringify(formatPageToken(pageTokenKey, list, cursor))
    const body = await concatInTurns(
      [
        Buffer.from(`{${removedThrough}"data":[`),
        ...texts,
        Buffer.from(`],"next_cursor":${next},"has_more":${seen < newest}}`),
      ],
      work,
    )
    return { status: 200, headers: { 'content-type': JSON_MEDIA_TYPE }, body }
  }

  if (plan.isSmall) return answer({ turn: nextTurn })
  return turns.run(org, () => answerFor(budget, payer, answer), payer.caller)
}

type AuthorizedRead = <T>(work: (reader: StoreReader, payer: Payer) => Promise<T>) => Promise<T>

async function answerFor(
  budget: EventFeedDeps['budget'],
  payer: Payer,
  answer: (work: Work) => Promise<Answer>,
): Promise<Answer> {
  const work = budget.begin(payer)
  try {
    return await answer(work)
  } finally {
    work.end()
  }
}

/** Reads the events of each slice as one text, separated by commas. */
async function readTexts(
  read: AuthorizedRead,
  org: string,
  {
    page,
    slices,
    work,
  }: {
    readonly page: EventPage
    readonly slices: readonly EventSlice[]
    readonly work: Pick<Work, 'turn'>
  },
): Promise<Buffer[]> {
  const texts: Buffer[] = []
  for (const slice of slices) {
    if (texts.length > 0) await work.turn()
    const events = await read((reader) => reader.events.listTexts(org, { ...page, ...slice }))
    if (events.length === 0) continue
    const separator = texts.length === 0 ? '' : ','
    texts.push(Buffer.from(separator + events.map(({ text }) => text).join(',')))
  }
  return texts
}

/** Returns the sequence number that the page starts after. */
async function readStart(
  reader: StoreReader,
  org: string,
  readToken: (cursor: string) => string,
  { cursor }: ListEventsQuery,
): Promise<number> {
  if (cursor === undefined) return (await reader.events.checkpoint(org))?.sequence ?? 0
  return readCursor(reader, org, readToken(cursor))
}

function pageOf(query: ListEventsQuery, after: number, newest: number): EventPage {
  const through = Math.min(after + WINDOW, newest)
  return { after, through, limit: readPageSize(query.page_size), ...readFilter(query) }
}

/** Includes the event's hash: after a restore the same numbers may belong to other events. */
async function formatCursor(reader: StoreReader, org: string, sequence: number): Promise<string> {
  return `${sequence}:${await hashAt(reader, org, sequence)}`
}

/** Returns the sequence number of a cursor. Throws 400 when it belongs to another history. */
async function readCursor(reader: StoreReader, org: string, text: string): Promise<number> {
  const sequence = Number.parseInt(text, 10)
  await requireKept(reader, org, sequence)
  if (text === (await formatCursor(reader, org, sequence))) return sequence
  throw invalidArgument(
    '`cursor` refers to an event that is not in this history, ' +
      'for example after a restored backup; start without `cursor`',
    { field: 'cursor' },
  )
}

/** Returns the last removed event, or 0. Throws 410 when events after `sequence` are removed. */
async function requireKept(reader: StoreReader, org: string, sequence: number): Promise<number> {
  const removed = (await reader.events.checkpoint(org))?.sequence ?? 0
  if (sequence >= removed) return removed
  throw gone(
    `events up to ${removed} were removed by the retention of the history; ` +
      'start without `cursor`',
    { field: 'cursor', reason: 'history_removed' },
  )
}

/** Returns an empty hash for an unknown event. */
async function hashAt(reader: StoreReader, org: string, sequence: number): Promise<string> {
  if (sequence === EMPTY_HISTORY.sequence) return EMPTY_HISTORY.hash
  const checkpoint = await reader.events.checkpoint(org)
  if (checkpoint?.sequence === sequence) return checkpoint.hash
  return (await reader.events.hashAt(org, sequence)) ?? ''
}

function readFilter({ kind, actor, since, until }: ListEventsQuery) {
  return {
    kind: kind ?? null,
    actor: actor ?? null,
    since: since === undefined ? null : new Date(since).toISOString(),
    until: until === undefined ? null : new Date(until).toISOString(),
  }
}
