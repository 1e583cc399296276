import type { Connection } from '../../../store/sql/connection.ts'

/** Rows that one transaction removes at most, so that batches come between. */
const ROWS_IN_A_STEP = 1_000
/** Tuples and sources that one step looks at. */
const IDS_IN_A_STEP = 5_000

/** Parts of the removal of rows, each for a transaction of its own. */
export interface DropRows {
  /**
   * Forgets the counts of the days before this one, so that lists pass them, and the bytes that
   * arrived on them. Returns the rows.
   */
  dropDays(before: number): Promise<number>
  /** Removes some rows and losses of these days. Returns whether there may be more. */
  dropOld(before: number): Promise<boolean>
  /**
   * Removes tuples and sources without a row on this day or later, of the next ids after `after`;
   * returns the last of them, or null at the end.
   */
  dropUnused(before: number, after: UnusedPosition): Promise<UnusedPosition | null>
}

export interface UnusedPosition {
  readonly tuple: number
  readonly source: number
}

export function createDropRows(connection: Connection): DropRows {
  const countDays = connection.prepare<{ readonly records: number }>(
    'SELECT CAST(COALESCE(SUM(records), 0) AS BIGINT) AS records FROM days WHERE day < ?',
  )
  const deleteDays = connection.prepare('DELETE FROM days WHERE day < ?')
  const unbook = connection.prepare(
    `UPDATE organizations SET bytes = bytes - COALESCE(
       (SELECT SUM(b.bytes) FROM stored_bytes b WHERE b.org = organizations.id AND b.day < ?), 0)`,
  )
  const deleteBooked = connection.prepare('DELETE FROM stored_bytes WHERE day < ?')
  const deleteOld = [
    connection.prepare(formatDelete('records', RECORD_KEY, 'day < ?')),
    connection.prepare(formatDelete('losses', 'id', 'day < ?')),
  ]
  const unusedTuples = createDropUnusedTuples(connection)
  const unusedSources = createDropUnusedSources(connection)

  return {
    async dropDays(before) {
      const row = await countDays.get(before)
      await deleteDays.run(before)
      await unbook.run(before)
      await deleteBooked.run(before)
      return row?.records ?? 0
    },
    async dropOld(before) {
      for (const statement of deleteOld) if ((await statement.run(before)) > 0) return true
      return false
    },
    async dropUnused(before, after) {
      const tuple = await unusedTuples(before, after.tuple)
      const source = await unusedSources(before, after.source)
      return tuple === null && source === null
        ? null
        : { tuple: tuple ?? after.tuple, source: source ?? after.source }
    },
  }
}

const RECORD_KEY = 'day, org, last_ms, id'

/** Deletes some of the rows. */
function formatDelete(table: string, key: string, which: string): string {
  return `DELETE FROM ${table} WHERE (${key}) IN
    (SELECT ${key} FROM ${table} WHERE ${which} LIMIT ${ROWS_IN_A_STEP})`
}

type DropUnused = (before: number, after: number) => Promise<number | null>

function createDropUnusedTuples(connection: Connection): DropUnused {
  const endOfStep = createEndOfStep(connection, 'tuples')
  const which = 'id > ? AND id <= ? AND last_day < ?'
  const deleteRules = ['tuple_rules', 'shadow_rules'].map((table) =>
    connection.prepare(
      `DELETE FROM ${table} WHERE tuple IN (SELECT id FROM tuples WHERE ${which})`,
    ),
  )
  const deleteTuples = connection.prepare(`DELETE FROM tuples WHERE ${which}`)
  return async (before, after) => {
    const end = await endOfStep(after)
    if (end === null) return null
    for (const statement of deleteRules) await statement.run(after, end, before)
    await deleteTuples.run(after, end, before)
    return end
  }
}

function createDropUnusedSources(connection: Connection): DropUnused {
  const endOfStep = createEndOfStep(connection, 'sources')
  const deleteSources = connection.prepare(
    'DELETE FROM sources WHERE id > ? AND id <= ? AND last_day < ?',
  )
  return async (before, after) => {
    const end = await endOfStep(after)
    if (end !== null) await deleteSources.run(after, end, before)
    return end
  }
}

/** The last of the next ids; null at the end. */
function createEndOfStep(
  connection: Connection,
  table: string,
): (after: number) => Promise<number | null> {
  const select = connection.prepare<{ readonly id: number | null }>(
    `SELECT MAX(id) AS id FROM
       (SELECT id FROM ${table} WHERE id > ? ORDER BY id LIMIT ${IDS_IN_A_STEP}) next_ids`,
  )
  return async (after) => (await select.get(after))?.id ?? null
}
