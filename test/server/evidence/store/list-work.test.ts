import Sqlite, { type Database } from 'better-sqlite3'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { EvidenceFilter } from '../../../../server/src/evidence/store/evidence-store.ts'
import { createListRecords } from '../../../../server/src/evidence/store/sql/list-records.ts'
import { createFindRuleUse } from '../../../../server/src/evidence/store/sql/rule-use.ts'
import { createUnexportedReader } from '../../../../server/src/evidence/store/sql/unexported-rows.ts'
import { openSqliteEvidence } from '../../../../server/src/evidence/store/sqlite/open-sqlite-evidence.ts'
import { createSqliteConnection } from '../../../../server/src/store/sqlite/sqlite-connection.ts'
import { startInProcess } from '../../in-process-worker.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { appendRows, DAY_MS, EVERYTHING, NOW_MS, row, TODAY } from './evidence-batches.ts'

/** More new rows than one call visits, and more old tuples than are sought one by one. */
const NEW_ROWS = 50_000
const OLD_ROWS = 5_000

const FILTERS: readonly (readonly [string, Partial<EvidenceFilter>])[] = [
  ['nothing', {}],
  ['a user', { username: 'alice' }],
  ['a device', { device_id: 'dev_1' }],
  ['a session', { session: 'boot-1' }],
  ['a decision', { decision: 'deny' }],
  ['actions', { actions: ['file:read', 'file:write', 'connect:tcp'] }],
  ['a program', { program: '/usr/bin/node' }],
  ['a rule', { rule_id: 'r' }],
  ['a resource', { resource: '/srv' }],
  ['a text', { text: 'srv' }],
  [
    'all',
    { username: 'u', decision: 'deny', program: 'p', rule_id: 'r', resource: '/', text: 'x' },
  ],
]

describe('a list of evidence', () => {
  it.each(FILTERS)('never scans a whole table for %s', async (_title, filter) => {
    const path = await fill(100)
    const { database, statements } = watch(path)
    const list = createListRecords(statements.connection, () => Promise.resolve())

    await list('acme', { ...EVERYTHING, ...filter }, { before: null, limit: 10 })

    expect(statements.texts.size).toBeGreaterThan(1)
    for (const sql of statements.texts) expect([sql, scansOf(database, sql)]).toEqual([sql, []])
  })

  it('visits a bounded number of rows and goes on where it ended', async () => {
    const path = await fill(NEW_ROWS + OLD_ROWS)
    const { statements } = watch(path)
    const list = createListRecords(statements.connection, () => Promise.resolve())
    const filter = { ...EVERYTHING, decision: 'deny' as const }

    const first = await list('acme', filter, { before: null, limit: 10 })
    const second = await list('acme', filter, { before: first.next, limit: 10 })

    expect(first.rows).toEqual([])
    expect(first.next).not.toBeNull()
    expect(second.rows).toHaveLength(10)
    expect(second.rows[0]).toMatchObject({ id: NEW_ROWS + 1, tuple: { decision: 'deny' } })
  })

  it('tests the tuples of a frequent resource in turns', async () => {
    const { statements } = watch(await fill(NEW_ROWS + OLD_ROWS))
    const list = createListRecords(statements.connection, () => Promise.resolve())
    const filter = { ...EVERYTHING, resource: '/srv', text: 'rare' }

    expect((await list('acme', filter, { before: null, limit: 10 })).rows).toEqual([])

    const tests = [...statements.texts].filter((sql) => sql.startsWith('SELECT t.id, t.first_day'))
    expect(tests).toEqual([expect.stringContaining('t.id > ? AND t.id <= ?')])
  })

  it('compares a text in one pass, however often it almost occurs in a target', async () => {
    const { statements } = watch(await fill(1))
    const list = createListRecords(statements.connection, () => Promise.resolve())
    const filter = { ...EVERYTHING, text: `${'a'.repeat(255)}b` }

    const { rows } = await list('acme', filter, { before: null, limit: 10 })

    expect(rows).toEqual([])
    const texts = [...statements.texts]
    expect(texts).toContainEqual(expect.stringContaining('replace(t.folded, ?'))
    expect(texts).not.toContainEqual(expect.stringContaining('LIKE'))
  })
})

describe('the use of a rule', () => {
  it('is sought by its tuples, and never in a whole day', async () => {
    const path = join(temporaryDirectory(), 'evidence.db')
    const store = openSqliteEvidence(path, startInProcess)
    const rules = [{ policy_id: 'p', rule_id: 'r', decision: 'deny', origin: 'org' }] as const
    await appendRows(store, [row({ tuple: { rules } })])
    await store.close()
    const { database, statements } = watch(path)
    const findUse = createFindRuleUse(statements.connection, () => Promise.resolve())

    expect(await findUse('acme', 'r', { day: 0, seeks: 2 })).toMatchObject({ devices: ['dev_1'] })

    for (const sql of statements.texts) expect([sql, scansOf(database, sql)]).toEqual([sql, []])
  })
})

describe('the use of a rule with very many tuples', () => {
  it('is sought in turns, through all of them', async () => {
    const path = join(temporaryDirectory(), 'evidence.db')
    const store = openSqliteEvidence(path, startInProcess)
    const rules = [{ policy_id: 'p', rule_id: 'r', decision: 'deny', origin: 'org' }] as const
    await appendRows(store, [row({ tuple: { rules } })])
    for (let part = 0; part < 3; part += 1)
      await appendRows(
        store,
        Array.from({ length: 4_000 }, (_, index) =>
          row({ last_ms: NOW_MS - 5 * DAY_MS, tuple: { rules, host: `${part}-${index}.example` } }),
        ),
      )
    await store.close()
    let turns = 0
    const findUse = createFindRuleUse(watch(path).statements.connection, async () => {
      turns += 1
    })

    expect(await findUse('acme', 'r', { day: TODAY, seeks: 2 })).toEqual({
      devices: ['dev_1'],
      isComplete: true,
      isShadowed: false,
    })
    expect(turns).toBe(2)
    expect((await findUse('acme', 'r', { day: TODAY + 1, seeks: 2 })).devices).toEqual([])
  })
})

describe('the export', () => {
  it('reads the records of a batch, and not those of others in the same time', async () => {
    const path = join(temporaryDirectory(), 'evidence.db')
    const store = openSqliteEvidence(path, startInProcess)
    await store.setExporters(['otlp'])
    await appendRows(store, [row()])
    await store.close()
    const { database, statements } = watch(path)
    const reader = createUnexportedReader(statements.connection, () => Promise.resolve())

    expect((await reader.take('otlp', 10)).rows).toHaveLength(1)

    const [read = ''] = [...statements.texts].filter((sql) => sql.startsWith('SELECT r.id'))
    expect(planOf(database, read)[0]).toContain('INDEX records_source')
  })
})

describe('a list of one session and one resource', () => {
  const sought = async (filter: Partial<EvidenceFilter>) => {
    const { database, statements } = watch(await fillSessions())
    const list = createListRecords(statements.connection, () => Promise.resolve())
    const { rows } = await list('acme', { ...EVERYTHING, ...filter }, { before: null, limit: 20 })
    const seeks = [...statements.texts].filter((sql) => sql.startsWith('SELECT r.id'))
    const columns = ['source', 'tuple'].filter((column) =>
      seeks.some((sql) => sql.includes(`r.${column} IN`)),
    )
    const steps = seeks.flatMap((sql) => planOf(database, sql))
    const inTime = steps.filter((step) => /PRIMARY KEY \(day=\? AND org=\? AND last_ms>/.test(step))
    // The first records are visited in the order of time, and no other ones.
    return { columns, found: rows.length, inTime: inTime.length }
  }

  it('seeks the resource where the session has many more records', async () => {
    expect(await sought({ session: 'big', resource: '/rare' })).toEqual({
      columns: ['tuple'],
      found: 1,
      inTime: 1,
    })
  })

  it('seeks the session where the resource has many more records', async () => {
    expect(await sought({ session: 'small', resource: '/t/0' })).toEqual({
      columns: ['source'],
      found: 10,
      inTime: 1,
    })
  })
})

/** A session with many records and one with few, behind more new ones than are visited first. */
async function fillSessions(): Promise<string> {
  const path = join(temporaryDirectory(), 'evidence.db')
  const store = openSqliteEvidence(path, startInProcess)
  let lastMs = NOW_MS
  const rowOf = (session: string, target: string) =>
    row({
      session,
      last_ms: (lastMs -= 1),
      tuple: { action: 'file:read', host: null, port: null, path: target },
    })
  const repeat = (count: number, make: (index: number) => ReturnType<typeof rowOf>) =>
    Array.from({ length: count }, (_, index) => make(index))
  await appendRows(
    store,
    repeat(5_000, () => rowOf('new', '/new')),
  )
  await appendRows(
    store,
    repeat(5_000, (index) => rowOf('big', `/t/${index % 10}`)),
  )
  await appendRows(store, [rowOf('big', '/rare'), ...repeat(10, () => rowOf('small', '/t/0'))])
  await store.close()
  return path
}

/** Rows of allowed requests, and behind them different ones that were denied. */
async function fill(count: number): Promise<string> {
  const path = join(temporaryDirectory(), 'evidence.db')
  const store = openSqliteEvidence(path, startInProcess)
  for (let first = 0; first < count; first += 5_000)
    await appendRows(
      store,
      Array.from({ length: Math.min(5_000, count - first) }, (_, place) => {
        const index = first + place
        const isOld = index >= NEW_ROWS
        return row({
          session: `boot-${index % 10}`,
          last_ms: NOW_MS - index,
          tuple: {
            decision: isOld ? 'deny' : 'allow',
            action: 'file:read',
            host: null,
            port: null,
            path: `/srv/${isOld ? index : index % 1000}`,
          },
        })
      }),
    )
  await store.close()
  return path
}

/** A connection to the file, with the texts of the statements that are run. */
function watch(path: string) {
  const database = new Sqlite(path, { readonly: true })
  onTestFinished(() => void database.close())
  const inner = createSqliteConnection(database)
  const texts = new Set<string>()
  const connection: typeof inner = {
    prepare<Row>(sql: string) {
      const statement = inner.prepare<Row>(sql)
      return {
        get(...values) {
          texts.add(sql)
          return statement.get(...values)
        },
        all(...values) {
          texts.add(sql)
          return statement.all(...values)
        },
        run: (...values) => statement.run(...values),
      }
    },
  }
  return { database, statements: { connection, texts } }
}

/** Steps of SQLite's plan. */
function planOf(database: Database, sql: string): string[] {
  const parameters = Array.from({ length: sql.split('?').length - 1 }, () => 0)
  return database
    .prepare<number[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...parameters)
    .map(({ detail }) => detail)
}

/** Steps that read all of a table or an index. */
function scansOf(database: Database, sql: string): string[] {
  return planOf(database, sql).filter(
    (detail) =>
      /^SCAN (?![rx]$)/.test(detail) ||
      /^SEARCH \w+ USING PRIMARY KEY \(day=\? AND org=\?\)$/.test(detail),
  )
}
