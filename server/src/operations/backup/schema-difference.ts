import Sqlite, { type Database } from 'better-sqlite3'
import type { Migration } from '../../store/sql/dialect.ts'
import { migrate } from '../../store/sqlite/migrate.ts'

interface SchemaItem {
  readonly type: string
  readonly name: string
  readonly table: string
  readonly sql: string
}

/**
 * Indexes of constraints have no SQL: they follow from that of their table. Statistics are left by
 * `ANALYZE`, which an operator may run; they change no result. SQLite would read SQL in a BLOB,
 * too.
 */
const ITEMS = `
  SELECT type, name, tbl_name AS "table", CASE typeof(sql) WHEN 'text' THEN sql ELSE '' END AS sql
  FROM sqlite_schema
  WHERE sql IS NOT NULL AND NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4'))
  ORDER BY name`

/**
 * Names the first table, index, trigger or view that differs from those that `migrations` make;
 * null without a difference. Rows and history do not show it: without a UNIQUE constraint two
 * records may have the same key, and a trigger brings a removed member back.
 */
export function findSchemaDifference(
  database: Database,
  migrations: readonly Migration[],
): string | null {
  // Text is compared by its bytes, so another encoding is another order.
  const encoding = database.pragma('encoding', { simple: true })
  if (encoding !== 'UTF-8') return `has the text encoding ${String(encoding)} instead of UTF-8`
  const schema = migrations.length
  const expected = new Map(itemsOfMigrations(migrations).map((item) => [item.name, item]))
  for (const item of itemsOf(database)) {
    const { type, name, table, sql } = item
    const released = expected.get(name)
    if (released === undefined)
      return `contains the ${type} \`${name}\`, which is not part of schema ${schema}`
    expected.delete(name)
    if (
      type !== released.type ||
      table !== released.table ||
      normaliseSql(sql) !== normaliseSql(released.sql)
    )
      return `contains the ${type} \`${name}\` with another definition than schema ${schema}`
  }
  for (const { type, name } of expected.values())
    return `lacks the ${type} \`${name}\` of schema ${schema}`
  return null
}

/**
 * Tokens, as SQLite splits SQL: quoted text with its content, a word, any other character. Blanks
 * and comments stand outside the group. Only the last alternative takes a NUL, where SQLite stops
 * reading: text behind one must not count.
 */
const TOKENS =
  /[ \t\n\f\r]+|--[^\n\0]*|\/\*[^\0]*?\*\/|('(?:[^'\0]|'')*'|"(?:[^"\0]|"")*"|`(?:[^`\0]|``)*`|\[[^\]\0]*\]|[\w$\u0080-\uffff]+|[^])/g

/** Equal for statements that differ only in blanks and comments. */
function normaliseSql(sql: string): string {
  return Array.from(sql.matchAll(TOKENS), ([, token]) => token ?? '')
    .filter((token) => token !== '')
    .join(' ')
}

function itemsOf(database: Database): SchemaItem[] {
  return database.prepare<[], SchemaItem>(ITEMS).all()
}

function itemsOfMigrations(migrations: readonly Migration[]): SchemaItem[] {
  const database = new Sqlite(':memory:')
  try {
    migrate(database, migrations)
    return itemsOf(database)
  } finally {
    database.close()
  }
}
