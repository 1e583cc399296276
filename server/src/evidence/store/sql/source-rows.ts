import { createSelectIn } from '../../../store/sql/select-in.ts'
import type { EvidenceBatch } from '../evidence-store.ts'
import { dayOf } from './day.ts'
import { createWidenDays, type DaySpan } from './widen-days.ts'
import type { WritingSession } from './writing-session.ts'

interface KnownSource extends DaySpan {
  readonly id: number
  readonly session: string
}

/** The sources of a batch, by session. */
export interface FoundSources {
  readonly wanted: ReadonlyMap<string, DaySpan>
  readonly known: ReadonlyMap<string, KnownSource>
}

/** Batches of one device that are written at once conflict, so no source is stored twice. */
export interface SourceFiling {
  find(org: number, batch: EvidenceBatch): Promise<FoundSources>
  /** Stores the sources that are not there. Returns the id of each session's. */
  store(
    org: number,
    batch: EvidenceBatch,
    found: FoundSources,
  ): Promise<ReadonlyMap<string, number>>
}

export function createSourceFiling(session: WritingSession): SourceFiling {
  const { connection } = session
  const select = createSelectIn<KnownSource>(
    connection,
    (list) =>
      `SELECT id, session, first_day, last_day FROM sources
       WHERE org = ? AND device_id = ? AND username IS NOT DISTINCT FROM ?
         AND session IN (${list})`,
  )
  const insert = session.insertInto({ name: 'sources', effect: 'everything' }, [
    { name: 'org', type: 'BIGINT' },
    { name: 'device_id', type: 'TEXT' },
    { name: 'session', type: 'TEXT' },
    { name: 'username', type: 'TEXT' },
    { name: 'first_day', type: 'BIGINT' },
    { name: 'last_day', type: 'BIGINT' },
  ])
  const widenDays = createWidenDays(connection, 'sources')

  async function selectKnown(
    org: number,
    { device_id, username }: EvidenceBatch,
    sessions: readonly string[],
  ): Promise<Map<string, KnownSource>> {
    const rows = await select([org, device_id, username], sessions)
    return new Map(rows.map((row) => [row.session, row]))
  }

  return {
    async find(org, batch) {
      const wanted = collectSessions(batch.rows)
      return { wanted, known: await selectKnown(org, batch, [...wanted.keys()]) }
    },
    async store(org, batch, { wanted, known }) {
      const missing = [...wanted].filter(([name]) => !known.has(name))
      await insert.run(
        missing.map(([name, { first_day, last_day }]) => [
          org,
          batch.device_id,
          name,
          batch.username,
          first_day,
          last_day,
        ]),
      )
      const made = await selectKnown(
        org,
        batch,
        missing.map(([name]) => name),
      )
      const widenings = [...known.values()].flatMap((stored) => {
        const span = wanted.get(stored.session)
        return span === undefined ? [] : [{ stored, wanted: span }]
      })
      await widenDays(widenings)
      return new Map([...known, ...made].map(([name, { id }]) => [name, id]))
    },
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
