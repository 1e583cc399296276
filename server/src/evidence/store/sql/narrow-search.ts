import type { Connection, Statement, Value } from '../../../store/sql/connection.ts'
import { createSelectIn } from '../../../store/sql/select-in.ts'
import type { EvidenceFilter } from '../evidence-store.ts'
import { dayOf } from './day.ts'
import {
  indexedTupleConditions,
  indexedTuples,
  joinConditions,
  otherTupleConditions,
  sourceConditions,
  type Condition,
  type IndexedTuples,
} from './record-conditions.ts'
import type { DaySpan } from './widen-days.ts'

/** With more sources or tuples than this, records with them are not rare. */
export const MOST_IDS = 3_000
/** With so few sources a test of very many tuples seldom pays, so fewer are tested. */
const FEW_IDS = 64
/** Tuples that a search tests between two turns of the event loop, and in all. */
const TUPLES_IN_A_TURN = 5_000
const MOST_TUPLES = 300_000
const MOST_TUPLES_BESIDE_FEW_SOURCES = 50_000
/** Records that are counted for the choice between sources and tuples. */
const MOST_COUNTED = 10_000
/**
 * The records of a source arrived together and share pages of the database. Those of a tuple have a
 * page each, about. // bench: evidence/audit
 */
const WORK_OF_TUPLES = 8

/** The sources or the tuples that a filter matches. */
export interface NarrowIds {
  readonly column: 'source' | 'tuple'
  readonly ids: readonly NarrowId[]
}

export interface NarrowId extends DaySpan {
  readonly id: number
}

/** Resolves to null when there are too many of both. */
export type NarrowSearch = (org: number, filter: EvidenceFilter) => Promise<NarrowIds | null>

export function createNarrowSearch(
  connection: Connection,
  pause: () => Promise<void>,
): NarrowSearch {
  const statements = new Map<string, Statement<NarrowId>>()
  const endOfTurn = connection.prepare<{ readonly id: number }>(
    'SELECT id FROM tuples WHERE org = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?',
  )

  const countIn = (column: NarrowIds['column']) =>
    createSelectIn<{ readonly records: number }>(
      connection,
      (list) =>
        `SELECT COUNT(*) AS records FROM
           (SELECT 1 FROM records r WHERE r.day = ? AND r.org = ? AND r.${column} IN (${list})
            LIMIT ${MOST_COUNTED}) counted`,
    )
  const counts = { source: countIn('source'), tuple: countIn('tuple') }

  function select(sql: string, values: readonly Value[]): Promise<NarrowId[]> {
    const statement = statements.get(sql) ?? connection.prepare<NarrowId>(sql)
    statements.set(sql, statement)
    return statement.all(...values)
  }

  /** At most one more than `MOST_IDS`. */
  async function selectIndexed(
    from: string,
    letter: 's' | 't',
    org: number,
    conditions: readonly Condition[],
  ): Promise<readonly NarrowId[]> {
    const { sql, values } = joinConditions(conditions)
    return select(
      `SELECT ${letter}.id, ${letter}.first_day, ${letter}.last_day FROM ${from}
       WHERE ${letter}.org = ?${sql} LIMIT ?`,
      [org, ...values, MOST_IDS + 1],
    )
  }

  /** Whether an index finds no more tuples than are tested in one turn. */
  async function findsFew(org: number, { from, conditions }: IndexedTuples): Promise<boolean> {
    const { sql, values } = joinConditions(conditions)
    const more = await select(`SELECT t.id FROM ${from} WHERE t.org = ?${sql} LIMIT 1 OFFSET ?`, [
      org,
      ...values,
      TUPLES_IN_A_TURN,
    ])
    return more.length === 0
  }

  /** Tests all tuples; null when there are more than one call tests. */
  async function scanTuples(
    org: number,
    conditions: readonly Condition[],
    most: number,
  ): Promise<readonly NarrowId[] | null> {
    const { sql, values } = joinConditions(conditions)
    const found: NarrowId[] = []
    let after = 0
    for (let tested = 0; tested < most; tested += TUPLES_IN_A_TURN) {
      const end = await endOfTurn.get(org, after, TUPLES_IN_A_TURN - 1)
      const rows = await select(
        `SELECT t.id, t.first_day, t.last_day FROM tuples t INDEXED BY tuples_org
         WHERE t.org = ? AND t.id > ? AND t.id <= ?${sql}`,
        [org, after, end?.id ?? Number.MAX_SAFE_INTEGER, ...values],
      )
      found.push(...rows)
      if (end === undefined || found.length > MOST_IDS) return found
      after = end.id
      await pause()
    }
    return null
  }

  async function findTuples(org: number, filter: EvidenceFilter, most: number) {
    const conditions = [...indexedTupleConditions(org, filter), ...otherTupleConditions(filter)]
    if (conditions.length === 0) return null
    const wanted = [...conditions, ...inDays('t', filter)]
    for (const indexed of indexedTuples(org, filter))
      if (await findsFew(org, indexed))
        return selectIndexed(indexed.from, 't', org, [...indexed.conditions, ...wanted])
    return scanTuples(org, wanted, most)
  }

  async function findSources(org: number, filter: EvidenceFilter) {
    const conditions = sourceConditions(filter)
    return conditions.length === 0
      ? null
      : selectIndexed('sources s', 's', org, [...conditions, ...inDays('s', filter)])
  }

  /** About the records of the ids: those of the newest day, on each day in which one occurs. */
  async function estimate(org: number, { column, ids }: NarrowIds, fromMs: number) {
    const newest = ids.reduce((day, { last_day }) => Math.max(day, last_day), 0)
    const oldest = ids.reduce((day, { first_day }) => Math.min(day, first_day), newest)
    const some = ids.filter(({ last_day }) => last_day === newest).map(({ id }) => id)
    const counted = await counts[column]([newest, org], some)
    const days = 1 + newest - Math.max(oldest, dayOf(fromMs))
    return counted.reduce((sum, { records }) => sum + records, 0) * days
  }

  return async (org, filter) => {
    const sources = narrowOf('source', await findSources(org, filter))
    const hasFew = sources !== null && sources.ids.length <= FEW_IDS
    const most = hasFew ? MOST_TUPLES_BESIDE_FEW_SOURCES : MOST_TUPLES
    const tuples = narrowOf('tuple', await findTuples(org, filter, most))
    if (sources === null || tuples === null) return sources ?? tuples
    // A source may have few records or many, and a tuple as well.
    const ofSources = await estimate(org, sources, filter.fromMs)
    const ofTuples = (await estimate(org, tuples, filter.fromMs)) * WORK_OF_TUPLES
    return ofTuples < ofSources ? tuples : sources
  }
}

/** Null when there are too many ids, or it is not known which. */
function narrowOf(column: NarrowIds['column'], ids: readonly NarrowId[] | null): NarrowIds | null {
  return ids === null || ids.length > MOST_IDS ? null : { column, ids }
}

function inDays(letter: 's' | 't', { fromMs, toMs }: EvidenceFilter): Condition[] {
  return [
    { sql: `${letter}.last_day >= ?`, values: [dayOf(fromMs)] },
    { sql: `${letter}.first_day <= ?`, values: [dayOf(toMs)] },
  ]
}
