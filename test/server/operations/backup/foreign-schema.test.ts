import Sqlite, { type Database } from 'better-sqlite3'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { restore } from '../../../../server/src/operations/backup/restore.ts'
import { sealFile } from '../../../../server/src/operations/backup/seal.ts'
import { verifyDatabase } from '../../../../server/src/operations/backup/verify-database.ts'
import type { Migration } from '../../../../server/src/store/sql/dialect.ts'
import { MIGRATIONS } from '../../../../server/src/store/sql/migrations/migrations.ts'
import { migrate } from '../../../../server/src/store/sqlite/migrate.ts'
import { copyDatabase, makeDatabaseAt, newPath } from './databases.ts'

/** The migrations of a release with two more steps. */
const NEWER: readonly Migration[] = [
  ...MIGRATIONS,
  () => 'CREATE TABLE more (id TEXT)',
  () => 'ALTER TABLE more ADD COLUMN name TEXT',
]

let made: string
let backup: string

beforeAll(async () => {
  made = await makeDatabaseAt(newPath('made.db', afterAll), ['acme'])
})
beforeEach(() => {
  backup = copyDatabase(made)
})

function edit(path: string, change: (database: Database) => void): void {
  const database = new Sqlite(path)
  database.pragma('foreign_keys = OFF')
  change(database)
  database.close()
}

/** Rebuilds a table with its rows and indexes, from its own SQL with `search` replaced. */
function rebuild(table: string, search: string, replacement: string) {
  return (database: Database): void => {
    const statements = database
      .prepare<[string], string>(
        'SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY type DESC',
      )
      .pluck()
      .all(table)
    const [create = ''] = statements
    expect(create).toContain(search)
    // References of other tables do not change.
    database.pragma('legacy_alter_table = ON')
    database.exec(`ALTER TABLE "${table}" RENAME TO former`)
    database.exec(create.replace(search, () => replacement))
    database.exec(`INSERT INTO "${table}" SELECT * FROM former; DROP TABLE former`)
    for (const index of statements.slice(1)) database.exec(index)
  }
}

const run = (sql: string) => (database: Database) => void database.exec(sql)

async function restoreSealed(): Promise<{ database: string; attempt: Promise<unknown> }> {
  await sealFile(backup)
  const database = newPath()
  const attempt = restore({
    file: backup,
    database,
    replace: false,
    sha256: null,
    unverified: true,
    suffix: randomUUID(),
    nowMs: 0,
    onProgress: () => undefined,
  })
  return { database, attempt }
}

describe('a sealed backup', () => {
  it.each([
    ['as the server wrote it', () => undefined],
    ['after ANALYZE', run('ANALYZE')],
    ['after VACUUM', run('VACUUM')],
    [
      'with a table rebuilt with other white space and comments',
      rebuild('teams', '(', '( -- of a dump\n\t/* too */ '),
    ],
  ])('is restored %s', async (_title, change) => {
    edit(backup, change)

    const { database, attempt } = await restoreSealed()

    await expect(attempt).resolves.toMatchObject({ database, faults: [] })
  })

  const otherwise = (item: string) =>
    `contains the ${item} with another definition than schema ${MIGRATIONS.length}`

  it.each([
    [
      'a dropped UNIQUE',
      rebuild('access_tokens', 'UNIQUE', ''),
      otherwise('table `access_tokens`'),
    ],
    [
      'a dropped CHECK',
      rebuild('rules', "CHECK (decision IN ('allow', 'deny'))", ''),
      otherwise('table `rules`'),
    ],
    [
      'a CHECK in a comment',
      rebuild('rules', "CHECK (decision IN ('allow', 'deny'))", '/*CHECK*/'),
      otherwise('table `rules`'),
    ],
    [
      'other white space in quotes',
      rebuild('rules', "'deny'", "'deny '"),
      otherwise('table `rules`'),
    ],
    ['another default', rebuild('users', 'DEFAULT 0', 'DEFAULT 7'), otherwise('table `users`')],
    ['another foreign key', rebuild('rules', 'ON DELETE CASCADE', ''), otherwise('table `rules`')],
    [
      'another index under the name of a released one',
      run(`DROP INDEX rules_policy_id_name_key;
           CREATE INDEX rules_policy_id_name_key ON rules (policy_id, name)`),
      otherwise('index `rules_policy_id_name_key`'),
    ],
    [
      'a released index on another table',
      run(`DROP INDEX rules_policy_id_name_key;
           CREATE UNIQUE INDEX rules_policy_id_name_key ON policies (id, name)`),
      otherwise('index `rules_policy_id_name_key`'),
    ],
    [
      'a missing index',
      run('DROP INDEX rules_policy_id_name_key'),
      `lacks the index \`rules_policy_id_name_key\` of schema ${MIGRATIONS.length}`,
    ],
    [
      'a missing table',
      run('DROP TABLE webhook_deliveries'),
      `lacks the table \`webhook_deliveries\` of schema ${MIGRATIONS.length}`,
    ],
    [
      'an added table',
      run('CREATE TABLE places (url TEXT)'),
      'contains the table `places`, which is not part of',
    ],
    [
      'an added index',
      run('CREATE UNIQUE INDEX one_only ON organizations (entitled)'),
      'contains the index `one_only`, which is not part of',
    ],
    [
      'an added view',
      run('CREATE VIEW people AS SELECT username FROM users'),
      'contains the view `people`, which is not part of',
    ],
  ])('is refused with %s, even as unverified', async (_title, change, reason) => {
    edit(backup, change)

    const { database, attempt } = await restoreSealed()

    await expect(attempt).rejects.toThrow(reason)
    expect(existsSync(database)).toBe(false)
  })

  it('is refused with SQL after a NUL, which SQLite ignores', async () => {
    edit(backup, (database) => {
      database.unsafeMode(true)
      database.pragma('writable_schema = ON')
      database
        .prepare("UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ?) WHERE name = 'rules'")
        .run(') --\0\n STRICT')
    })

    const { attempt } = await restoreSealed()

    await expect(attempt).rejects.toThrow(otherwise('table `rules`'))
  })

  it('is refused with SQL that is not text', async () => {
    edit(backup, (database) => {
      database.unsafeMode(true)
      database.pragma('writable_schema = ON')
      database.exec("UPDATE sqlite_schema SET sql = CAST(sql AS BLOB) WHERE name = 'rules'")
    })

    const { attempt } = await restoreSealed()

    await expect(attempt).rejects.toThrow(otherwise('table `rules`'))
  })
})

it('refuses another text encoding, which sorts differently', () => {
  const database = new Sqlite(':memory:')
  database.pragma("encoding = 'UTF-16le'")
  migrate(database, MIGRATIONS)

  expect(() => verifyDatabase(database, 'other')).toThrow('has the text encoding UTF-16le')
  database.close()
})

it.each([
  ['an older schema than it has', MIGRATIONS.length, 'contains the table `more`, which is not'],
  ['another schema', MIGRATIONS.length + 1, 'contains the table `more` with another'],
])('refuses a database with the version of %s', (_title, version, reason) => {
  const database = new Sqlite(':memory:')
  migrate(database, NEWER)
  database.pragma(`user_version = ${version}`)

  expect(() => verifyDatabase(database, 'other', NEWER)).toThrow(reason)
  database.close()
})

it('accepts every schema version, migrated from any earlier one', () => {
  const faults: string[] = []
  for (let schema = 1; schema <= NEWER.length; schema += 1) {
    const stepwise = new Sqlite(':memory:')
    for (let version = 1; version <= schema; version += 1)
      migrate(stepwise, NEWER.slice(0, version))
    try {
      expect(verifyDatabase(stepwise, 'steps', NEWER).schema).toBe(schema)
    } catch (error) {
      faults.push(String(error))
    }
    stepwise.close()
  }
  expect(faults).toEqual([])
})
