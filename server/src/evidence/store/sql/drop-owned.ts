import type { Connection, Value } from '../../../store/sql/connection.ts'
import type { EvidenceOwner } from '../evidence-store.ts'
import type { RemovedParts } from './unexported-rows.ts'

/** Rows that one transaction removes at most, so that batches come between. */
const ROWS_IN_A_STEP = 1_000

/** Parts of the removal of one organization's or device's evidence, each for a transaction. */
export interface DropOwned {
  /** Removes some rows of the owner. The last call frees the account. */
  dropSome(owner: EvidenceOwner): Promise<RemovedParts>
  /** Removes tuples of the organization without a record, of the next ids after `after`. */
  dropTuplesAfter(org: string, after: number): Promise<number | null>
}

interface Owned {
  readonly org: number
  readonly deviceId: string | null
}

export function createDropOwned(connection: Connection): DropOwned {
  const find = connection.prepare<{ readonly id: number }>(
    'SELECT id FROM organizations WHERE name = ?',
  )
  const dropRecords = createDropRecords(connection)
  const dropOthers = createDropOthers(connection)
  const unbook = createUnbook(connection)
  const dropTuples = createDropTuples(connection)
  return {
    async dropSome({ org: name, deviceId }) {
      const found = await find.get(name)
      if (found === undefined) return { records: 0, isLast: true }
      const owned = { org: found.id, deviceId }
      const records = await dropRecords(owned)
      if (records > 0 || (await dropOthers(owned))) return { records, isLast: false }
      await unbook(owned)
      return { records: 0, isLast: true }
    },
    async dropTuplesAfter(name, after) {
      const found = await find.get(name)
      return found === undefined ? null : dropTuples(found.id, after)
    },
  }
}

const SOURCES = 'SELECT id FROM sources WHERE org = ? AND device_id = ?'
const RECORD_KEY = 'day, org, last_ms, id'

function createDropRecords(connection: Connection): (owned: Owned) => Promise<number> {
  const days = connection.prepare<{ readonly day: number }>(
    'SELECT day FROM days WHERE org = ? ORDER BY day',
  )
  const format = (which: string): string =>
    `DELETE FROM records WHERE (${RECORD_KEY}) IN (SELECT ${RECORD_KEY} FROM records
       WHERE day = ? AND org = ? ${which} LIMIT ${ROWS_IN_A_STEP})`
  const ofAll = connection.prepare(format(''))
  const ofDevice = connection.prepare(format(`AND source IN (${SOURCES})`))
  const uncount = connection.prepare(
    'UPDATE days SET records = records - ? WHERE org = ? AND day = ?',
  )
  const dropDay = connection.prepare('DELETE FROM days WHERE org = ? AND day = ? AND records <= 0')
  return async ({ org, deviceId }) => {
    for (const { day } of await days.all(org)) {
      const removed =
        deviceId === null ? await ofAll.run(day, org) : await ofDevice.run(day, org, org, deviceId)
      if (removed === 0) continue
      await uncount.run(removed, org, day)
      await dropDay.run(org, day)
      return removed
    }
    return 0
  }
}

/** Losses, parts that wait for their export, and at last the sources that name both. */
function createDropOthers(connection: Connection): (owned: Owned) => Promise<boolean> {
  const prepare = (table: string, which: string) =>
    connection.prepare(
      `DELETE FROM ${table} WHERE id IN
         (SELECT id FROM ${table} WHERE org = ? ${which} LIMIT ${ROWS_IN_A_STEP})`,
    )
  const ofAll = ['losses', 'unexported', 'sources'].map((table) => prepare(table, ''))
  const ofDevice = [
    { statement: prepare('losses', 'AND device_id = ?'), isNested: false },
    { statement: prepare('unexported', `AND source IN (${SOURCES})`), isNested: true },
    { statement: prepare('sources', 'AND device_id = ?'), isNested: false },
  ]
  return async ({ org, deviceId }) => {
    if (deviceId === null) {
      for (const statement of ofAll) if ((await statement.run(org)) > 0) return true
      return false
    }
    for (const { statement, isNested } of ofDevice) {
      const values: Value[] = isNested ? [org, org, deviceId] : [org, deviceId]
      if ((await statement.run(...values)) > 0) return true
    }
    return false
  }
}

function createUnbook(connection: Connection): (owned: Owned) => Promise<void> {
  const which = 'org = ? AND (device_id = ? OR CAST(? AS BIGINT) = 1)'
  const sum = connection.prepare<{ readonly bytes: number }>(
    `SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM stored_bytes WHERE ${which}`,
  )
  const remove = connection.prepare(`DELETE FROM stored_bytes WHERE ${which}`)
  const lower = connection.prepare('UPDATE organizations SET bytes = bytes - ? WHERE id = ?')
  return async ({ org, deviceId }) => {
    const owned = [org, deviceId ?? '', deviceId === null ? 1 : 0]
    await lower.run((await sum.get(...owned))?.bytes ?? 0, org)
    await remove.run(...owned)
  }
}

/** A tuple may be that of other devices too. */
function createDropTuples(
  connection: Connection,
): (org: number, after: number) => Promise<number | null> {
  const endOfStep = connection.prepare<{ readonly id: number | null }>(
    `SELECT MAX(id) AS id FROM
       (SELECT id FROM tuples WHERE org = ? AND id > ? ORDER BY id LIMIT ${ROWS_IN_A_STEP}) step`,
  )
  const unused = `SELECT t.id FROM tuples t WHERE t.org = ? AND t.id > ? AND t.id <= ?
    AND NOT EXISTS (SELECT 1 FROM days d JOIN records r
      ON r.day = d.day AND r.org = d.org AND r.tuple = t.id WHERE d.org = t.org)`
  const removals = [
    `DELETE FROM tuple_rules WHERE tuple IN (${unused})`,
    `DELETE FROM shadow_rules WHERE tuple IN (${unused})`,
    `DELETE FROM tuples WHERE id IN (${unused})`,
  ].map((sql) => connection.prepare(sql))
  return async (org, after) => {
    const end = (await endOfStep.get(org, after))?.id ?? null
    if (end !== null) for (const removal of removals) await removal.run(org, after, end)
    return end
  }
}
