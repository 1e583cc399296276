import type { Connection } from '../../../store/sql/connection.ts'
import type {
  EvidenceFilter,
  EvidencePage,
  EvidencePosition,
  EvidenceSlice,
  StoredEvidence,
} from '../evidence-store.ts'
import { dayOf, startOfDay } from './day.ts'
import { createNarrowSearch, type NarrowIds } from './narrow-search.ts'
import {
  indexedTupleConditions,
  joinConditions,
  otherTupleConditions,
  sourceConditions,
  type Condition,
} from './record-conditions.ts'
import {
  createRecordReader,
  LARGEST_SEEK,
  type RecordRange,
  type RecordReader,
  type SoughtIds,
} from './record-rows.ts'

/** Records that one statement visits. */
const VISITED = 2_000
/** Records that a call visits before it looks for something rare, and in all. */
const VISITED_AT_FIRST = 4_000
const MOST_VISITED = 40_000
/** Records that one part of a day has, about, in which sources or tuples are sought. */
const RECORDS_IN_A_PART = 50_000
const LEAST_PART_MS = 1_000
/** With more records of sources or tuples in a part, these are not rare there. */
const MOST_SOUGHT = 5_000
/** Statements of one call that seek, and days that one call looks into. */
const MOST_SEEKS = 400
const MOST_DAYS = 400

type ListRecords = (
  org: string,
  filter: EvidenceFilter,
  page: EvidencePage,
) => Promise<EvidenceSlice>

interface DayCount {
  readonly day: number
  readonly records: number
}

/** A search that goes back in time until its page is full or its work is done. */
interface Search {
  readonly org: RecordRange['org']
  readonly filter: EvidenceFilter
  /** On the joined rows. */
  readonly conditions: Condition
  readonly limit: number
  /** Newest first; without those that are through. */
  readonly days: DayCount[]
  readonly rows: StoredEvidence[]
  /** Everything from here on, in the order of the rows, is not yet searched. */
  below: EvidencePosition
}

/**
 * Lists records. The newest are visited in the order of time and tested: a filter that matches many
 * fills its page at once. When it does not, the sources or tuples that it matches are looked up,
 * and sought in each day in which they occur. Either way a call ends after a number of records,
 * seeks and days, and says where the next one goes on. `pause` is awaited between statements.
 */
export function createListRecords(connection: Connection, pause: () => Promise<void>): ListRecords {
  const findOrg = connection.prepare<{ readonly id: number }>(
    'SELECT id FROM organizations WHERE name = ?',
  )
  const findDays = connection.prepare<DayCount>(
    `SELECT day, records FROM days WHERE org = ? AND day >= ? AND day <= ?
     ORDER BY day DESC LIMIT ?`,
  )
  const records = createRecordReader(connection)
  const seekInPart = createSeekInPart(records, pause)
  const findNarrow = createNarrowSearch(connection, pause)

  async function begin(
    org: RecordRange['org'],
    filter: EvidenceFilter,
    page: EvidencePage,
  ): Promise<Search> {
    const end = { last_ms: filter.toMs, id: 0 }
    // The position may be of a list with other filters, and so be later than this one ends.
    const below = page.before === null || newestFirst(page.before, end) < 0 ? end : page.before
    const days = await findDays.all(org.id, dayOf(filter.fromMs), dayOf(below.last_ms), MOST_DAYS)
    return {
      org,
      filter,
      conditions: joinConditions([
        ...sourceConditions(filter),
        ...indexedTupleConditions(org.id, filter),
        ...otherTupleConditions(filter),
      ]),
      limit: page.limit,
      days,
      rows: [],
      below,
    }
  }

  /** Tests up to `most` records in the order of time. */
  async function scan(search: Search, most: number): Promise<void> {
    let left = most
    for (let [first] = search.days; first !== undefined && left > 0; [first] = search.days) {
      const range = rangeOf(search, first.day)
      const visited = Math.min(left, VISITED)
      const rows = await records.scan(range, search.conditions, { visited, limit: room(search) })
      take(search, rows)
      if (isFull(search)) return
      const end = await records.positionAfter(range, visited)
      if (end === undefined) leaveDay(search, first.day)
      else search.below = end
      left -= end === undefined ? Math.min(visited, first.records) : visited
      await pause()
    }
  }

  /**
   * Seeks ids in the days in which they occur, the days in parts of about as many records. A part
   * in which they are not rare is read in the order of time, in bounded steps.
   */
  async function seek(search: Search, { column, ids }: NarrowIds): Promise<void> {
    let seeks = MOST_SEEKS
    // Doubled while little is there: rare records need not be sought in small parts.
    let scale = 1
    for (let [first] = search.days; first !== undefined && seeks > 0; [first] = search.days) {
      const { day } = first
      const wanted = ids.filter((each) => each.first_day <= day && day <= each.last_day)
      if (wanted.length === 0) {
        leaveDay(search, day)
        continue
      }
      const range = partOf(search, first, scale)
      const found = await seekInPart(search, range, { column, wanted: wanted.map(({ id }) => id) })
      seeks -= Math.ceil(wanted.length / LARGEST_SEEK)
      if (found === null) {
        await scan(search, RECORDS_IN_A_PART)
        if (isFull(search)) return
        seeks -= RECORDS_IN_A_PART / VISITED
        scale = 1
        continue
      }
      take(search, found.toSorted(newestFirst))
      if (isFull(search)) return
      if (range.fromMs <= Math.max(startOfDay(day), search.filter.fromMs)) leaveDay(search, day)
      else search.below = { last_ms: range.fromMs, id: 0 }
      if (found.length * 2 < room(search)) scale *= 2
    }
  }

  return async (name, filter, page) => {
    const org = await findOrg.get(name)
    if (org === undefined || filter.fromMs >= filter.toMs) return { rows: [], next: null }
    const search = await begin({ id: org.id, name }, filter, page)
    const hasMoreDays = search.days.length === MOST_DAYS
    await scan(search, VISITED_AT_FIRST)
    if (!isFull(search) && search.days.length > 0) {
      const narrow = await findNarrow(org.id, filter)
      if (narrow === null) await scan(search, MOST_VISITED)
      else await seek(search, narrow)
    }
    const isAtEnd = search.days.length === 0 && !isFull(search) && !hasMoreDays
    return { rows: search.rows, next: isAtEnd ? null : search.below }
  }
}

type SeekInPart = (
  search: Search,
  range: RecordRange,
  sought: SoughtIds,
) => Promise<StoredEvidence[] | null>

/** Answers null when there are too many records of the ids. */
function createSeekInPart(records: RecordReader, pause: () => Promise<void>): SeekInPart {
  return async (search, range, { column, wanted }) => {
    const found: StoredEvidence[] = []
    for (let index = 0; index < wanted.length; index += LARGEST_SEEK) {
      const sought = { column, wanted: wanted.slice(index, index + LARGEST_SEEK) }
      if (await records.hasMore(range, sought, MOST_SOUGHT)) return null
      found.push(...(await records.seek(range, sought, search.conditions, room(search))))
      await pause()
    }
    return found
  }
}

function rangeOf({ org, filter, below }: Search, day: number): RecordRange {
  return { org, day, fromMs: filter.fromMs, below }
}

/** The newest part of what is left of a day. */
function partOf(search: Search, { day, records }: DayCount, scale: number): RecordRange {
  const [start, end] = [startOfDay(day), startOfDay(day + 1)]
  const untilMs = Math.min(search.below.last_ms + 1, end)
  const share = (RECORDS_IN_A_PART * scale) / Math.max(records, 1)
  const partMs = Math.max(LEAST_PART_MS, Math.ceil((end - start) * share))
  const range = rangeOf(search, day)
  return { ...range, fromMs: Math.max(range.fromMs, start, untilMs - partMs) }
}

function room({ rows, limit }: Search): number {
  return limit - rows.length
}

function isFull(search: Search): boolean {
  return room(search) <= 0
}

/** Takes the newest of the rows that there is room for. */
function take(search: Search, rows: readonly StoredEvidence[]): void {
  search.rows.push(...rows.slice(0, room(search)))
  const last = search.rows.at(-1)
  if (isFull(search) && last !== undefined) search.below = { last_ms: last.last_ms, id: last.id }
}

function leaveDay(search: Search, day: number): void {
  search.days.shift()
  search.below = { last_ms: startOfDay(day), id: 0 }
}

function newestFirst(one: EvidencePosition, other: EvidencePosition): number {
  return other.last_ms - one.last_ms || other.id - one.id
}
