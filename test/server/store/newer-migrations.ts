import { MIGRATIONS } from '../../../server/src/store/sql/migrations/migrations.ts'
import type { Migration } from '../../../server/src/store/sql/dialect.ts'

/** Each step fails if it runs a second time, or before its predecessor. */
export const NEWER: readonly Migration[] = [
  ...MIGRATIONS,
  ({ text, keyed }) => `CREATE TABLE more (id ${text} PRIMARY KEY) ${keyed}`,
  ({ text }) => `ALTER TABLE more ADD COLUMN name ${text}`,
  () => "INSERT INTO more (id, name) SELECT name, 'x' FROM organizations",
]
