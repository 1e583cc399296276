import type { Dialect } from '../sql/dialect.ts'

export const SQLITE: Dialect = {
  text: 'TEXT',
  integer: 'INTEGER',
  bytes: 'BLOB',
  place: 'INTEGER PRIMARY KEY',
  keyed: 'STRICT, WITHOUT ROWID',
  placed: 'STRICT',
}
