import pg from 'pg'
import { StoreError } from '../store-error.ts'
import type { DatabaseAddress } from './database-url.ts'
import {
  createPostgresConnection,
  type PostgresConnection,
  type StatementTexts,
} from './postgres-connection.ts'
import { isLost, translate } from './postgres-error.ts'

/** Longest wait for a free connection, and for the database to accept a new one. */
const CONNECT_WITHIN_MS = 5_000
/** Beyond the `statement_timeout`, so that the database gets to speak first. */
const ANSWER_WITHIN_MS = 12_000

/** A lost connection says so at once; a network that swallows everything does not. */
const AGAIN_WITHIN_MS = 1_000

type Begin = (connection: PostgresConnection) => Promise<void>
type Work<Session, T> = (session: Session, connection: PostgresConnection) => Promise<T>

/** Connections of one kind, each with the session that was made of it once. */
export interface Sessions<Session> {
  /**
   * Lends a session on which `begin` went well, and throws one that breaks away. Throws
   * `ERR_STORE_UNAVAILABLE`.
   */
  use<T>(begin: Begin, work: Work<Session, T>): Promise<T>
  /** Waits for running work. */
  close(): Promise<void>
}

/** At most `max` connections; `open` prepares the session of a new connection. */
export function createSessions<Session>(
  address: DatabaseAddress,
  max: number,
  texts: StatementTexts,
  open: (connection: PostgresConnection) => Session,
): Sessions<Session> {
  const pool = new pg.Pool({ ...clientConfig(address), max, idleTimeoutMillis: 60_000 })
  const opened = new WeakMap<pg.Client, { connection: PostgresConnection; session: Session }>()
  const running = new Set<Promise<unknown>>()
  let closing: Promise<void> | null = null

  // An idle connection that ends is replaced when somebody needs one; one that is lent reports its
  // end through the query that fails. Unheard, either would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))

  function sessionOf(client: pg.Client) {
    const known = opened.get(client)
    if (known !== undefined) return known
    const connection = createPostgresConnection(client, texts)
    const made = { connection, session: open(connection) }
    opened.set(client, made)
    return made
  }

  /** A connection that was idle may have ended unnoticed; then another is taken. */
  async function borrow(begin: Begin) {
    const startedAt = performance.now()
    for (;;) {
      const client = await pool.connect().catch((error: unknown) => {
        throw translate(error)
      })
      const isNew = !opened.has(client)
      const { connection, session } = sessionOf(client)
      try {
        await begin(connection)
        return { client, connection, session }
      } catch (error) {
        // Asked again and again by a process whose schema is gone, which needs no new connections.
        client.release(connection.isBroken() || isLost(error))
        if (isNew || !isLost(error) || performance.now() - startedAt > AGAIN_WITHIN_MS) throw error
      }
    }
  }

  async function lend<T>(begin: Begin, work: Work<Session, T>): Promise<T> {
    const { client, connection, session } = await borrow(begin)
    try {
      return await work(session, connection)
    } finally {
      client.release(connection.isBroken())
    }
  }

  async function close(): Promise<void> {
    while (running.size > 0) await Promise.allSettled(running)
    await pool.end()
  }

  return {
    use(begin, work) {
      if (closing !== null)
        return Promise.reject(new StoreError('ERR_STORE_UNAVAILABLE', 'the store is closed'))
      const result = lend(begin, work)
      running.add(result)
      const forget = (): unknown => running.delete(result)
      result.then(forget, forget)
      return result
    },
    close: () => (closing ??= close()),
  }
}

/** How every connection to the address is made. */
export function clientConfig(address: DatabaseAddress): pg.ClientConfig {
  return {
    ...address.client,
    types: COLUMN_PARSERS,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    query_timeout: ANSWER_WITHIN_MS,
  }
}

const { INT2, INT4, INT8, BYTEA } = pg.types.builtins
const INTEGERS: ReadonlySet<number> = new Set([INT2, INT4, INT8])
const BYTES: ReadonlySet<number> = new Set([BYTEA])
const parseBytes = pg.types.getTypeParser(BYTEA)

/**
 * How a connection reads columns, for itself alone: integers as numbers, bytes as a Buffer and
 * everything else as the text that PostgreSQL sends. Throws RangeError rather than rounding.
 */
const COLUMN_PARSERS = {
  getTypeParser(type: number) {
    if (INTEGERS.has(type)) return parseInteger
    if (BYTES.has(type)) return parseBytes
    return (text: string) => text
  },
}

function parseInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`integer ${text} is beyond 53 bits`)
  return value
}
