import pg from 'pg'
import { StoreError } from '../store-error.ts'
import { COLUMN_PARSERS } from './parse-columns.ts'
import type { DatabaseAddress } from './database-url.ts'
import {
  createPostgresConnection,
  type PostgresConnection,
  type StatementTexts,
} from './postgres-connection.ts'
import { translate } from './postgres-error.ts'

/** Longest wait for a free connection, and for the database to accept a new one. */
const CONNECT_WITHIN_MS = 5_000
/** Beyond the `statement_timeout`, so that the database gets to speak first. */
const ANSWER_WITHIN_MS = 12_000

/** Connections of one kind, each with what was made of it once. */
export interface Sessions<Session> {
  /** Lends a session; one that breaks is thrown away. Throws `ERR_STORE_UNAVAILABLE`. */
  use<T>(work: (session: Session, connection: PostgresConnection) => Promise<T>): Promise<T>
  /** Waits for what is running. */
  close(): Promise<void>
}

/** At most `max` connections; `open` prepares what a session offers beyond its connection. */
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

  async function lend<T>(
    work: (session: Session, connection: PostgresConnection) => Promise<T>,
  ): Promise<T> {
    const client = await pool.connect().catch((error: unknown) => {
      throw translate(error)
    })
    const { connection, session } = sessionOf(client)
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
    use(work) {
      if (closing !== null)
        return Promise.reject(new StoreError('ERR_STORE_UNAVAILABLE', 'the store is closed'))
      const result = lend(work)
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
