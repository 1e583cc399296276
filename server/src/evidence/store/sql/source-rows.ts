import type { Connection } from '../../../store/sql/connection.ts'
import type { EvidenceBatch } from '../evidence-store.ts'
import { dayOf } from './day.ts'
import { createWidenDays, type DaySpan } from './widen-days.ts'

interface KnownSource extends DaySpan {
  readonly id: number
}

/**
 * Stores the sources of a batch, and answers the id of each session's. The batches of one device
 * take turns, so two of them do not store the same source.
 */
export function createStoreSources(
  connection: Connection,
): (org: number, batch: EvidenceBatch) => Promise<ReadonlyMap<string, number>> {
  const find = connection.prepare<KnownSource>(
    `SELECT id, first_day, last_day FROM sources
     WHERE org = ? AND device_id = ? AND session = ? AND username IS NOT DISTINCT FROM ?`,
  )
  const insert = connection.prepare<{ readonly id: number }>(
    `INSERT INTO sources (org, device_id, session, username, first_day, last_day)
     VALUES (?, ?, ?, ?, ?, ?) RETURNING id`,
  )
  const widenDays = createWidenDays(connection, 'sources')

  return async (org, { device_id, username, rows }) => {
    const ids = new Map<string, number>()
    for (const [session, wanted] of collectSessions(rows)) {
      const stored = await find.get(org, device_id, session, username)
      if (stored !== undefined) await widenDays([{ stored, wanted }])
      const { id = 0 } =
        stored ??
        (await insert.get(org, device_id, session, username, wanted.first_day, wanted.last_day)) ??
        {}
      ids.set(session, id)
    }
    return ids
  }
}

function collectSessions(rows: EvidenceBatch['rows']): ReadonlyMap<string, DaySpan> {
  const sessions = new Map<string, DaySpan>()
  for (const { session, last_ms } of rows) {
    const day = dayOf(last_ms)
    const { first_day = day, last_day = day } = sessions.get(session) ?? {}
    sessions.set(session, {
      first_day: Math.min(first_day, day),
      last_day: Math.max(last_day, day),
    })
  }
  return sessions
}
