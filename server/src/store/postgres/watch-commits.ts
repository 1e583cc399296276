import pg from 'pg'
import { setTimeout as pause } from 'node:timers/promises'
import { StoreError } from '../store-error.ts'
import type { DatabaseAddress } from './database-url.ts'
import { clientConfig } from './sessions.ts'
import { CHANNEL } from './transactions.ts'

/** How often the database is asked; announcements come sooner, but may be lost. */
const CHECK_EVERY_MS = 400
/** Time-out of an answer, after which the connection is opened again. */
const ANSWER_WITHIN_MS = 1_500
/** An observation counts for this long: no cached value outlives a lost database by more. */
const TRUSTED_MS = 2_000
/** Changes outside the counter, such as those made by hand, are seen after this long. */
const RENEW_EVERY_MS = 30_000

/** Tells whether anything was committed since; see `Store.generation`. */
export interface CommitWatch {
  /** Resolves after the first look at the database, also when that failed. */
  readonly started: Promise<void>
  generation(): number
  /** After each commit of this process: the number of commits, null when it is not known. */
  committed(commits: number | null): void
  close(): Promise<void>
}

/**
 * Follows the commits of all processes over a connection of its own: each announces itself, and
 * their number is asked for again and again, because an announcement may be lost. As long as there
 * is no answer, and when the schema is another than `schema`, every call of `generation` gives
 * another number.
 */
export function watchCommits(address: DatabaseAddress, schema: number): CommitWatch {
  const stop = new AbortController()
  const started = Promise.withResolvers<void>()
  let generation = 0
  let known: number | null = null
  let trustedUntil = 0
  let renewAt = 0
  let wake = new AbortController()

  function see(commits: number | null): void {
    if (commits === known && performance.now() < renewAt) return
    known = commits
    generation += 1
    renewAt = performance.now() + RENEW_EVERY_MS
  }

  async function check(client: pg.Client): Promise<void> {
    const askedAt = performance.now()
    const { rows } = await client.query<{ commits: number; version: number }>(
      'SELECT commits, version FROM palisade_store',
    )
    see(rows[0]?.commits ?? null)
    trustedUntil = rows[0]?.version === schema ? askedAt + TRUSTED_MS : 0
    started.resolve()
  }

  async function follow(client: pg.Client): Promise<void> {
    client.on('notification', () => wake.abort())
    client.on('error', () => wake.abort())
    await client.connect()
    await client.query(`LISTEN ${CHANNEL}`)
    // Commits before this are unknown: the database may even be another one now.
    known = null
    while (!stop.signal.aborted) {
      wake = new AbortController()
      await check(client)
      await pauseUntil(CHECK_EVERY_MS, AbortSignal.any([wake.signal, stop.signal]))
    }
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      const client = new pg.Client({
        ...clientConfig(address),
        application_name: 'palisade-server commits',
        query_timeout: ANSWER_WITHIN_MS,
      })
      await follow(client).catch(() => undefined)
      started.resolve()
      await client.end().catch(() => undefined)
      await pauseUntil(CHECK_EVERY_MS, stop.signal)
    }
  }

  const running = run()
  return {
    started: started.promise,
    generation() {
      if (stop.signal.aborted) throw new StoreError('ERR_STORE_UNAVAILABLE', 'the store is closed')
      if (performance.now() >= trustedUntil) generation += 1
      return generation
    },
    committed(commits) {
      see(commits)
      if (commits === null) generation += 1
    },
    async close() {
      stop.abort()
      await running
    },
  }
}

async function pauseUntil(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal }).catch(() => undefined)
}
