import type { Database } from 'better-sqlite3'
import type { Connection, Effect, Statement, Value } from '../sql/connection.ts'
import { guard } from './sqlite-error.ts'

/** Statements run on the calling thread, at once; their failures are StoreErrors. */
export function createSqliteConnection(
  database: Database,
  /** Told of every statement that writes, before it runs. */
  writes: (effect: Effect) => void = () => undefined,
): Connection {
  return {
    prepare<Row>(sql: string, effect: Effect = 'everything'): Statement<Row> {
      const statement = guard(() => database.prepare<Value[], Row>(sql))
      const prepareTo = (): void => {
        if (!statement.readonly) writes(effect)
      }
      return {
        async get(...values) {
          prepareTo()
          return guard(() => statement.get(...values))
        },
        async all(...values) {
          prepareTo()
          return guard(() => statement.all(...values))
        },
        async run(...values) {
          prepareTo()
          return guard(() => statement.run(...values).changes)
        },
      }
    },
  }
}
