import type { Database } from 'better-sqlite3'
import type { Connection, Effect, Statement, Value } from '../sql/connection.ts'
import type { MemberWrites } from './member-writes.ts'
import { guard } from './sqlite-error.ts'

const DONE: Promise<void> = Promise.resolve()

/**
 * Statements run on the calling thread, at once, except what `member` runs later; their failures are
 * StoreErrors.
 */
export function createSqliteConnection(
  database: Database,
  member: MemberWrites | null = null,
  /** Told of every statement that writes, before it runs. */
  writes: (effect: Effect) => void = () => undefined,
): Connection {
  return {
    prepare<Row>(sql: string, effect: Effect = 'everything'): Statement<Row> {
      const statement = guard(() => database.prepare<Value[], Row>(sql))
      const isWriting = !statement.readonly
      const prepareTo = (): void => {
        if (isWriting) writes(effect)
        member?.before(isWriting)
      }
      const run = async (...values: Value[]): Promise<number> => {
        prepareTo()
        return guard(() => statement.run(...values).changes)
      }
      const wait = (key: string | null, values: Value[]): Promise<void> => {
        if (member === null) return run(...values).then(() => undefined)
        writes(effect)
        member.later(statement, values, key)
        return DONE
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
        run,
        later: (...values) => wait(null, values),
        latest: (key, ...values) => wait(key, values),
      }
    },
  }
}
