import type { Connection } from '../../../store/sql/connection.ts'
import { createSelectIn } from '../../../store/sql/select-in.ts'
import type {
  EvidencePosition,
  EvidenceSource,
  EvidenceStore,
  EvidenceTally,
} from '../evidence-store.ts'
import { dayOf, startOfDay } from './day.ts'
import { readTuple, type TupleRow } from './tuple-columns.ts'

/** A machine may claim any number; no sum of these leaves the safe integers. */
const MOST_DECISIONS = 1_000_000

/** Newest first, as lists are: the rows of a part of a day are beside each other on disk. */
const IN_PART = 'r.day = ? AND r.org = ? AND r.last_ms >= ? AND (r.last_ms, r.id) < (?, ?)'
const NEWEST_FIRST = 'ORDER BY r.last_ms DESC, r.id DESC'

const TALLY = `
  SELECT r.source, r.tuple, MIN(r.first_ms) AS first_ms, MAX(r.last_ms) AS last_ms,
    CAST(SUM(CASE WHEN r.decisions > ${MOST_DECISIONS} THEN ${MOST_DECISIONS} ELSE r.decisions END)
      AS BIGINT) AS decisions
  FROM (
    SELECT r.source, r.tuple, r.first_ms, r.last_ms, r.decisions FROM records r
    WHERE ${IN_PART} ${NEWEST_FIRST} LIMIT ?
  ) r
  WHERE r.decisions > 0
  GROUP BY r.source, r.tuple`

/** See `EvidenceStore.tally`. */
export function createTallyRecords(connection: Connection): EvidenceStore['tally'] {
  const findOrg = connection.prepare<{ readonly id: number }>(
    'SELECT id FROM organizations WHERE name = ?',
  )
  const findDay = connection.prepare<{ readonly day: number }>(
    'SELECT day FROM days WHERE org = ? AND day >= ? AND day <= ? ORDER BY day DESC LIMIT 1',
  )
  const tally = connection.prepare<EvidenceTally>(TALLY)
  const positionAfter = connection.prepare<EvidencePosition>(
    `SELECT r.last_ms, r.id FROM records r WHERE ${IN_PART} ${NEWEST_FIRST} LIMIT 1 OFFSET ?`,
  )

  return async (name, { fromMs, toMs }, { before, records }) => {
    const below = before ?? { last_ms: toMs, id: 0 }
    const org = fromMs < toMs ? await findOrg.get(name) : undefined
    if (org === undefined) return END
    const found = await findDay.get(org.id, dayOf(fromMs), lastDayBelow(below))
    if (found === undefined) return END
    const part = [found.day, org.id, fromMs, below.last_ms, below.id]
    const tallies = await tally.all(...part, records)
    const end = await positionAfter.get(...part, records - 1)
    return { tallies, next: end ?? { last_ms: startOfDay(found.day), id: 0 } }
  }
}

function lastDayBelow({ last_ms, id }: EvidencePosition): number {
  return dayOf(id === 0 ? last_ms - 1 : last_ms)
}

const END = { tallies: [], next: null } as const

/** See `EvidenceStore.tuples`. */
export function createReadTuples(connection: Connection): EvidenceStore['tuples'] {
  const select = createSelectIn<TupleRow & { readonly id: number }>(
    connection,
    (list) => `SELECT * FROM tuples WHERE id IN (${list})`,
  )
  return async (ids) => new Map((await select([], ids)).map((row) => [row.id, readTuple(row)]))
}

/** See `EvidenceStore.sources`. */
export function createReadSources(connection: Connection): EvidenceStore['sources'] {
  const select = createSelectIn<EvidenceSource & { readonly id: number }>(
    connection,
    (list) => `SELECT id, device_id, username FROM sources WHERE id IN (${list})`,
  )
  return async (ids) =>
    new Map(
      (await select([], ids)).map(({ id, device_id, username }) => [id, { device_id, username }]),
    )
}
