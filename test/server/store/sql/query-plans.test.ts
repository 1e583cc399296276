import Sqlite from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import type { Connection } from '../../../../server/src/store/sql/connection.ts'
import { MIGRATIONS } from '../../../../server/src/store/sql/migrations/migrations.ts'
import { createReader, createWriter } from '../../../../server/src/store/aggregates/accessors.ts'
import { createWriteCache } from '../../../../server/src/store/sql/write-cache.ts'
import { migrate } from '../../../../server/src/store/sqlite/migrate.ts'

/** Intended scans of a whole table, by statement. */
const SCANS: readonly (readonly [statement: RegExp, reason: string])[] = [
  [/FROM organizations( ORDER BY name)?$/, 'of all organizations, by the server itself'],
  [/FROM webhooks w WHERE/, 'an organization has 20 at most'],
  [/FROM signing_keys WHERE/, 'each rotation leaves one'],
  [/FROM rollouts WHERE ended_at IS NULL AND state/, 'the index holds open rollouts alone'],
  [/FROM pending_revocations/, 'a row for each revocation of hundreds, gone some seconds later'],
]

/** Intended sorts, of few rows regardless of the size of the organization. */
const SORTS: readonly (readonly [statement: RegExp, reason: string])[] = [
  [/FROM policies p/, 'the teams of each policy, 100 at most'],
  [/FROM rules (r JOIN|WHERE policy_id)/, 'the limits on policies bound their rules'],
  [/FROM break_glass_grants WHERE/, 'outstanding ones of one device'],
  [/FROM signing_keys WHERE/, 'each rotation leaves one'],
  [/FROM webhooks/, 'an organization has 20 at most'],
  [/FROM distribution_keys WHERE org/, 'each role has one'],
  [/FROM rollouts WHERE org/, 'those that were started at the same time'],
  [/FROM known_networks WHERE username/, 'an account has 16'],
]

/** All statements prepared when a store is opened, with their parameters. */
function collectStatements(): string[] {
  const statements = new Set<string>()
  const connection: Connection = {
    prepare(sql) {
      statements.add(sql)
      return {
        get: async () => undefined,
        all: async () => [],
        run: async () => 0,
        later: async () => undefined,
        latest: async () => undefined,
      }
    },
  }
  createReader(connection)
  createWriter(connection, createWriteCache())
  return [...statements]
}

function openEmpty(): Sqlite.Database {
  const database = new Sqlite(':memory:')
  migrate(database, MIGRATIONS)
  return database
}

/** The steps of SQLite's plan in a database without statistics. */
function planOf(database: Sqlite.Database, sql: string): string[] {
  const parameters = Array.from({ length: sql.split('?').length - 1 }, () => '')
  return database
    .prepare<string[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...parameters)
    .map(({ detail }) => detail)
}

/** A full scan of a table or index, by its name or an alias of one letter. */
function isScan(step: string, tables: ReadonlySet<string>): boolean {
  const [, name = ''] = /^SCAN (\w+)/.exec(step) ?? []
  return tables.has(name) || name.length === 1
}

const oneLine = (sql: string): string => sql.replaceAll(/\s+/g, ' ').trim()
const isMeant = (meant: typeof SCANS, sql: string): boolean =>
  meant.some(([statement]) => statement.test(sql))

describe('the statements of the store', () => {
  const database = openEmpty()
  const statements = collectStatements()
  const tables = new Set(
    database
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .pluck()
      .all(),
  )
  const offenders = (meant: typeof SCANS, isStep: (step: string) => boolean): string[] =>
    statements
      .filter((sql) => planOf(database, sql).some(isStep))
      .map(oneLine)
      .filter((sql) => !isMeant(meant, sql))

  it('never scan a whole table that grows with customers', () => {
    expect(statements.length).toBeGreaterThan(100)

    expect(offenders(SCANS, (step) => isScan(step, tables))).toEqual([])
  })

  it('never sort more than a few rows', () => {
    expect(offenders(SORTS, (step) => step.startsWith('USE TEMP B-TREE'))).toEqual([])
  })

  it.each([...SCANS, ...SORTS].map(([statement]) => statement.source))(
    'include the exception %s',
    (source) => {
      const known = statements.map(oneLine).filter((sql) => new RegExp(source).test(sql))
      expect(known).not.toEqual([])
    },
  )

  it.each([
    [/^SELECT d\.id AS id FROM devices d WHERE d\.org = \? AND d\.id >/, 'id>?'],
    [/^SELECT d\.id AS id FROM devices d .* d\.username = /, 'username=? AND id>?'],
    [/^SELECT l\.device_id AS id FROM device_labels l/, 'label=? AND device_id>?'],
    [/^SELECT d\.\* FROM devices d .* d\.org = \? AND d\.id > \? AND/, 'id>? AND id<?'],
    [/^SELECT d\.\* FROM devices d .*\(d\.username, d\.id\)/, '(username,id)>(?,?)'],
    [/^SELECT d\.\* FROM device_labels l/, '(label,device_id)>(?,?)'],
    [/^SELECT d\.id, .* FROM devices d .* d\.id > \? AND d\.revoked_at/, 'id>?'],
    [/^SELECT d\.id, .* FROM devices d .* d\.id > \? AND d\.id <=/, 'id>? AND id<?'],
    [/^SELECT \* FROM events/, 'sequence>? AND sequence<?'],
    [/^SELECT \* FROM enrolment_tokens WHERE org .* place >/, 'place>?'],
    [/^SELECT \* FROM memberships WHERE org = \? AND username >/, 'username>?'],
    [/^SELECT \* FROM invitations WHERE org = \? AND username >/, 'username>?'],
    [/^SELECT \* FROM teams WHERE org = \? AND name >/, 'name>?'],
    [/^SELECT \* FROM access_tokens WHERE org .* place >/, 'place>?'],
  ])('read at most a page of %s', (statement, bounds) => {
    const found = statements.filter((sql) => statement.test(oneLine(sql)))

    expect(found).toHaveLength(1)
    for (const sql of found) expect(planOf(database, sql).join()).toContain(`org=? AND ${bounds}`)
  })

  it.each([
    [/^SELECT \* FROM access_tokens WHERE username .* place >/, 'place>?'],
    [/^SELECT \* FROM memberships WHERE username .* org >/, 'org>?'],
    [/^SELECT \* FROM invitations WHERE username .* org >/, 'org>?'],
  ])('read at most a page of a user by %s', (statement, bounds) => {
    const [sql = ''] = statements.filter((each) => statement.test(oneLine(each)))

    expect(planOf(database, sql).join()).toContain(`username=? AND ${bounds}`)
  })
})
