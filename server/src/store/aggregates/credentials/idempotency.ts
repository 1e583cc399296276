import { defineAggregate } from '../aggregate.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import type { IdempotencyRecord } from '../../records.ts'
import type { Connection } from '../../sql/connection.ts'
import { createSelectIn } from '../../sql/select-in.ts'

export interface IdempotencyReader {
  /** Also one that has expired; the caller compares `expires_at`. */
  find(scope: string): Promise<IdempotencyRecord | null>
  /** Kept answers of the caller, expired ones too until they are deleted. */
  keptFor(caller: string): Promise<KeptAnswers>
}

export interface KeptAnswers {
  readonly answers: number
  /** Bytes of their bodies. */
  readonly bytes: number
}

export interface IdempotencyWriter extends IdempotencyReader {
  /** Replaces the record of the scope. */
  put(record: IdempotencyRecord): Promise<void>
  /**
   * Removes the first answers that expired at or before `now` (`Date.toISOString`): at most
   * `answers` of them with at most `bytes` together, but at least one. Returns how many.
   */
  deleteExpired(now: string, most: KeptAnswers): Promise<number>
}

export const IDEMPOTENCY = defineAggregate({
  tables: [
    { name: 'idempotency', key: ['scope'] },
    { name: 'idempotency_callers', key: ['caller'] },
  ],
  reader: createIdempotencyReader,
  writer: createIdempotencyWriter,
  events: auditIdempotency,
})

/** A kept answer is no change, but takes room of the history's quota. */
function auditIdempotency(
  idempotency: IdempotencyWriter,
  { noteAnswer }: ChangeRecorder,
): Writes<IdempotencyWriter, IdempotencyReader> {
  return {
    put(answer) {
      noteAnswer()
      return idempotency.put(answer)
    },
    deleteExpired: (now, most) => idempotency.deleteExpired(now, most),
  }
}

/** An answer as it counts for its caller. */
interface CountedRow {
  readonly scope: string
  readonly caller: string
  readonly bytes: number
}

const COUNTED = 'scope, caller, CAST(octet_length(body) AS INTEGER) AS bytes'
const NOTHING: KeptAnswers = { answers: 0, bytes: 0 }

function createIdempotencyReader(connection: Connection): IdempotencyReader {
  const find = connection.prepare<Omit<IdempotencyRecord, 'headers'> & { headers: string }>(
    'SELECT * FROM idempotency WHERE scope = ?',
  )
  const keptFor = connection.prepare<KeptAnswers>(
    'SELECT answers, bytes FROM idempotency_callers WHERE caller = ?',
  )
  return {
    async find(scope) {
      const row = await find.get(scope)
      if (row === undefined) return null
      return { ...row, headers: JSON.parse(row.headers) as IdempotencyRecord['headers'] }
    },
    async keptFor(caller) {
      return (await keptFor.get(caller)) ?? NOTHING
    },
  }
}

function createIdempotencyWriter(connection: Connection): IdempotencyWriter {
  const put = connection.prepare(
    `INSERT INTO idempotency (scope, caller, body_hash, status, headers, body, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (scope) DO UPDATE SET
       caller = excluded.caller, body_hash = excluded.body_hash, status = excluded.status,
       headers = excluded.headers, body = excluded.body, expires_at = excluded.expires_at`,
    'progress',
  )
  const measure = connection.prepare<CountedRow>(
    `SELECT ${COUNTED} FROM idempotency WHERE scope = ?`,
  )
  const expired = connection.prepare<CountedRow>(
    `SELECT ${COUNTED} FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`,
  )
  const remove = createSelectIn(
    connection,
    (list) => `DELETE FROM idempotency WHERE scope IN (${list}) RETURNING scope`,
    'progress',
  )
  const count = connection.prepare(
    `INSERT INTO idempotency_callers (caller, answers, bytes) VALUES (?, ?, ?)
     ON CONFLICT (caller) DO UPDATE SET
       answers = idempotency_callers.answers + excluded.answers,
       bytes = idempotency_callers.bytes + excluded.bytes`,
    'progress',
  )
  const forgetCaller = connection.prepare(
    'DELETE FROM idempotency_callers WHERE caller = ? AND answers <= 0',
    'progress',
  )

  async function uncount(rows: readonly CountedRow[]): Promise<void> {
    const gone = new Map<string, KeptAnswers>()
    for (const { caller, bytes } of rows) {
      const known = gone.get(caller) ?? NOTHING
      gone.set(caller, { answers: known.answers + 1, bytes: known.bytes + bytes })
    }
    for (const [caller, { answers, bytes }] of gone) {
      await count.run(caller, -answers, -bytes)
      await forgetCaller.run(caller)
    }
  }

  return {
    ...createIdempotencyReader(connection),
    async put({ scope, caller, body_hash, status, headers, body, expires_at }) {
      const old = await measure.get(scope)
      if (old !== undefined) await uncount([old])
      await put.run(scope, caller, body_hash, status, JSON.stringify(headers), body, expires_at)
      await count.run(caller, 1, Buffer.byteLength(body))
    },
    async deleteExpired(now, most) {
      const rows = within(await expired.all(now, most.answers), most.bytes)
      await remove(
        [],
        rows.map(({ scope }) => scope),
      )
      await uncount(rows)
      return rows.length
    },
  }
}

/** The first rows that have so many bytes together, and the very first in any case. */
function within(rows: readonly CountedRow[], most: number): readonly CountedRow[] {
  let bytes = 0
  const end = rows.findIndex((row, index) => (bytes += row.bytes) > most && index > 0)
  return end === -1 ? rows : rows.slice(0, end)
}
