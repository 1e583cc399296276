import Sqlite from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { EventRecord } from '../../../../../server/src/store/records.ts'
import type { Connection } from '../../../../../server/src/store/sql/connection.ts'
import { createEventWriter } from '../../../../../server/src/store/aggregates/history/events.ts'
import { MIGRATIONS } from '../../../../../server/src/store/sql/migrations/migrations.ts'
import { createWriteCache } from '../../../../../server/src/store/sql/write-cache.ts'
import { migrate } from '../../../../../server/src/store/sqlite/migrate.ts'
import { createSqliteConnection } from '../../../../../server/src/store/sqlite/sqlite-connection.ts'

const AT = '2026-11-21T08:00:00.000Z'

describe('appending events', () => {
  it.each([
    [1, 1],
    [2, 1],
    [3, 1],
    [8, 1],
    [9, 1],
    [64, 1],
    [65, 1],
    [250, 1],
    [251, 2],
    [700, 3],
  ])('of number %i takes %i statements and one for the head', async (count, statements) => {
    const { connection, runs } = openConnection()
    const writer = createEventWriter(connection, { cache: createWriteCache() })
    const events = Array.from({ length: count }, (_, index) => event(index + 1))

    await writer.append('acme', events)

    expect(runs()).toBe(statements + 1)
    const page = { after: 0, through: count, limit: count + 1 }
    expect(await writer.list('acme', page)).toEqual(events)
    expect(await writer.head('acme')).toEqual({ sequence: count, hash: `hash ${count}` })
  })
})

/** A connection to an empty database, and its number of writing statements. */
function openConnection(): { connection: Connection; runs: () => number } {
  const database = new Sqlite(':memory:')
  onTestFinished(() => void database.close())
  migrate(database, MIGRATIONS)
  database.exec(`INSERT INTO organizations
    (name, entitled, revision, resolve_unlisted_names, created_at)
    VALUES ('acme', 1, 1, 0, '${AT}')`)
  const connection = createSqliteConnection(database)
  let runs = 0
  return {
    connection: {
      prepare<Row>(sql: string) {
        const statement = connection.prepare<Row>(sql)
        return {
          ...statement,
          run(...values: Parameters<typeof statement.run>) {
            runs += 1
            return statement.run(...values)
          },
        }
      },
    },
    runs: () => runs,
  }
}

function event(sequence: number): EventRecord {
  return {
    org: 'acme',
    sequence,
    at: AT,
    kind: 'team.created',
    actor: 'operator',
    address: sequence % 2 === 0 ? '192.0.2.7' : null,
    request_id: null,
    subject: { id: `t${sequence}`, name: 't' },
    before: null,
    after: sequence % 3 === 0 ? null : { sequence },
    revision: sequence + 10,
    previous_hash: `hash ${sequence - 1}`,
    hash: `hash ${sequence}`,
  }
}
