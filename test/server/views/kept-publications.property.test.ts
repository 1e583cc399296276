import Sqlite from 'better-sqlite3'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openSqliteStore } from '../../../server/src/store/sqlite/open-sqlite-store.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { describeStore } from './publication-law.ts'

describeStore('on SQLite', 15, async () => {
  const path = join(temporaryDirectory(), 'server.db')
  const store = openSqliteStore(path)
  const database = new Sqlite(path, { readonly: true })
  onTestFinished(() => {
    database.close()
    return store.close()
  })
  return {
    store,
    query: async (sql) => database.prepare<[], Record<string, unknown>>(sql).all(),
  }
})
