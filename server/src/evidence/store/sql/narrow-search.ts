import type { Connection, Statement, Value } from '../../../store/sql/connection.ts'
import type { EvidenceFilter } from '../evidence-store.ts'
import { dayOf } from './day.ts'
import {
  indexedTupleConditions,
  joinConditions,
  otherTupleConditions,
  sourceConditions,
  type Condition,
} from './record-conditions.ts'
import type { DaySpan } from './widen-days.ts'

/** With more sources or tuples than this, records with them are not rare. */
export const MOST_IDS = 3_000
/** So few sources are taken without a look at the tuples. */
const FEW_IDS = 64
/** Tuples that a search without an index tests between two turns of the event loop, and in all. */
const TUPLES_IN_A_TURN = 5_000
const MOST_TUPLES = 300_000

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

  function select(sql: string, values: readonly Value[]): Promise<NarrowId[]> {
    const statement = statements.get(sql) ?? connection.prepare<NarrowId>(sql)
    statements.set(sql, statement)
    return statement.all(...values)
  }

  /** At most one more than `MOST_IDS`. */
  async function selectIndexed(
    table: 'sources s' | 'tuples t',
    org: number,
    conditions: readonly Condition[],
  ): Promise<readonly NarrowId[]> {
    const letter = table.slice(-1)
    const { sql, values } = joinConditions(conditions)
    return select(
      `SELECT ${letter}.id, ${letter}.first_day, ${letter}.last_day FROM ${table}
       WHERE ${letter}.org = ?${sql} LIMIT ?`,
      [org, ...values, MOST_IDS + 1],
    )
  }

  /** Null when there are more tuples than one call tests. */
  async function scanTuples(
    org: number,
    conditions: readonly Condition[],
  ): Promise<readonly NarrowId[] | null> {
    const { sql, values } = joinConditions(conditions)
    const found: NarrowId[] = []
    let after = 0
    for (let tested = 0; tested < MOST_TUPLES; tested += TUPLES_IN_A_TURN) {
      const end = await endOfTurn.get(org, after, TUPLES_IN_A_TURN - 1)
      const rows = await select(
        `SELECT t.id, t.first_day, t.last_day FROM tuples t
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

  async function findTuples(org: number, filter: EvidenceFilter) {
    const indexed = indexedTupleConditions(org, filter)
    const others = [...otherTupleConditions(filter), ...inDays('t', filter)]
    if (indexed.length > 0) return selectIndexed('tuples t', org, [...indexed, ...others])
    return otherTupleConditions(filter).length > 0 ? scanTuples(org, others) : null
  }

  async function findSources(org: number, filter: EvidenceFilter) {
    const conditions = sourceConditions(filter)
    return conditions.length === 0
      ? null
      : selectIndexed('sources s', org, [...conditions, ...inDays('s', filter)])
  }

  return async (org, filter) => {
    const sources = await findSources(org, filter)
    const tuples =
      sources !== null && sources.length <= FEW_IDS ? null : await findTuples(org, filter)
    return fewest([
      { column: 'source', ids: sources },
      { column: 'tuple', ids: tuples },
    ])
  }
}

function inDays(letter: 's' | 't', { fromMs, toMs }: EvidenceFilter): Condition[] {
  return [
    { sql: `${letter}.last_day >= ?`, values: [dayOf(fromMs)] },
    { sql: `${letter}.first_day <= ?`, values: [dayOf(toMs)] },
  ]
}

function fewest(
  found: readonly { column: NarrowIds['column']; ids: readonly NarrowId[] | null }[],
): NarrowIds | null {
  const [least] = found
    .flatMap(({ column, ids }) => (ids === null || ids.length > MOST_IDS ? [] : [{ column, ids }]))
    .toSorted((one, other) => one.ids.length - other.ids.length)
  return least ?? null
}
