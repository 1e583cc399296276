import { createHash } from 'node:crypto'
import type pg from 'pg'
import type { Connection, Effect, Statement, Value } from '../sql/connection.ts'
import { StoreError } from '../store-error.ts'
import { translate } from './postgres-error.ts'

const READS = /^\s*SELECT\b/i

/** Shared SQL as PostgreSQL has it, with the name under which every connection prepares it. */
interface NamedText {
  readonly name: string
  readonly text: string
  readonly writes: boolean
}

/** Texts of shared SQL that were converted already; one for all connections of a store. */
export type StatementTexts = Map<string, NamedText>

/** A connection that knows whether it can be used for something else afterwards. */
export interface PostgresConnection extends Connection {
  /** Runs statements of PostgreSQL's own, one or several; answers the rows of all. */
  execute(sql: string): Promise<readonly Record<string, unknown>[]>
  /**
   * Tells whether a prepared statement that may write more than progress was run since
   * `forgetWrites`.
   */
  hasWritten(): boolean
  forgetWrites(): void
  /** Something failed that is no refused write, so the state of the session is not known. */
  isBroken(): boolean
}

/**
 * Statements are prepared when first used. Calls may overlap and run one after another, because
 * `pg` is about to refuse overlapping ones.
 */
export function createPostgresConnection(
  client: pg.Client,
  texts: StatementTexts,
): PostgresConnection {
  let last: Promise<unknown> = Promise.resolve()
  let broken = false
  let written = false

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = last.then(work).catch((error: unknown) => {
      const translated = translate(error)
      if (!(translated instanceof StoreError && translated.code === 'ERR_STORE_CONFLICT'))
        broken = true
      throw translated
    })
    last = result.catch(() => undefined)
    return result
  }

  return {
    prepare<Row>(sql: string, effect: Effect = 'everything'): Statement<Row> {
      const { name, text, writes } = convert(sql, texts)
      const query = (values: Value[]) => {
        if (writes && effect !== 'progress') written = true
        return inTurn(() => client.query<Row & object>({ name, text, values }))
      }
      return {
        get: async (...values) => (isStorable(values) ? (await query(values)).rows[0] : undefined),
        all: async (...values) => (isStorable(values) ? (await query(values)).rows : []),
        async run(...values) {
          if (!isStorable(values))
            throw new StoreError('ERR_STORE_CONFLICT', 'text must not contain U+0000', {
              subject: 'other',
            })
          return (await query(values)).rowCount ?? 0
        },
      }
    },

    async execute(sql) {
      const results: unknown = await inTurn(() => client.query(sql))
      // One result, or an array of them for several statements, which the types do not know.
      return [results].flat().flatMap((result) => (result as pg.QueryResult).rows)
    },

    hasWritten: () => written,
    forgetWrites() {
      written = false
    },
    isBroken: () => broken,
  }
}

/** PostgreSQL refuses U+0000 in a text, so no row has one and a lookup would find no row. */
function isStorable(values: readonly Value[]): boolean {
  return !values.some((value) => typeof value === 'string' && value.includes('\0'))
}

function convert(sql: string, texts: StatementTexts): NamedText {
  const known = texts.get(sql)
  if (known !== undefined) return known
  // PostgreSQL cuts names off at 63 bytes.
  const name = createHash('sha256').update(sql).digest('hex').slice(0, 32)
  const converted = { name, text: numberParameters(sql), writes: !READS.test(sql) }
  texts.set(sql, converted)
  return converted
}

/** A quoted text, a quoted name, a comment, the choice of an index, or a parameter. */
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\bINDEXED BY \w+|\?/g

/**
 * Writes the parameters of shared SQL the way PostgreSQL does: `?` becomes `$1`, `$2`, … An index
 * is chosen for SQLite alone, which knows nothing of the rows.
 */
function numberParameters(sql: string): string {
  let count = 0
  return sql.replace(TOKEN, (token) => {
    if (token === '?') return `$${++count}`
    return token.startsWith('INDEXED BY') ? '' : token
  })
}
