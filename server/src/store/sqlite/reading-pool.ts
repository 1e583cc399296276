import { StoreError } from '../store-error.ts'

/** The event loop goes round after this, however many reads wait. */
const TURN_MS = 10

/** A connection that only reads. */
export interface ReadingSession<Reader> {
  /** Runs `work` on a snapshot of its own. */
  read<T>(work: (reader: Reader) => Promise<T>): Promise<T>
  close(): void
}

/**
 * Lends each read a connection of its own, so that a read that pauses holds up no other one. Reads
 * start in the order of arrival. A chain of reads that never pauses would keep the event loop from
 * going round, because SQLite answers at once: a read therefore starts in the next turn when those
 * of this turn have taken `turnMs`.
 */
export interface ReadingPool<Reader> {
  /** Throws `ERR_STORE_UNAVAILABLE` once the pool is closing. */
  read<T>(work: (reader: Reader) => Promise<T>): Promise<T>
  /** Lets all reads that have arrived finish, then closes the connections. */
  close(): Promise<void>
}

export interface PoolBounds {
  readonly connections: number
  readonly turnMs: number
}

/** `first` is open already; `open` makes more of its kind when all are in use. */
export function createReadingPool<Reader>(
  first: ReadingSession<Reader>,
  open: () => ReadingSession<Reader>,
  { connections, turnMs = TURN_MS }: Partial<PoolBounds> & Pick<PoolBounds, 'connections'>,
): ReadingPool<Reader> {
  const sessions = [first]
  /** The last one given back is lent first: it has the warmest cache. */
  const free = [first]
  const waiting: ((session: ReadingSession<Reader>) => void)[] = []
  const idle = Promise.withResolvers<void>()
  let turnStartedMs: number | null = null
  let isClosing = false

  function startTurn(): void {
    turnStartedMs = null
    startWaiting()
  }

  function hasTurnTime(): boolean {
    if (turnStartedMs !== null) return performance.now() - turnStartedMs < turnMs
    turnStartedMs = performance.now()
    setImmediate(startTurn)
    return true
  }

  /** Undefined while all are in use; a further one that cannot be opened is not needed. */
  function borrow(): ReadingSession<Reader> | undefined {
    const session = free.pop()
    if (session !== undefined || sessions.length >= connections) return session
    try {
      const opened = open()
      sessions.push(opened)
      return opened
    } catch {
      return undefined
    }
  }

  function startWaiting(): void {
    while (waiting.length > 0 && hasTurnTime()) {
      const session = borrow()
      if (session === undefined) return
      waiting.shift()?.(session)
    }
    if (isClosing && waiting.length === 0 && free.length === sessions.length) idle.resolve()
  }

  async function run<T>(
    session: ReadingSession<Reader>,
    work: (reader: Reader) => Promise<T>,
  ): Promise<T> {
    try {
      return await session.read(work)
    } finally {
      free.push(session)
      startWaiting()
    }
  }

  return {
    read<T>(work: (reader: Reader) => Promise<T>): Promise<T> {
      if (isClosing)
        return Promise.reject(new StoreError('ERR_STORE_UNAVAILABLE', 'the store is closed'))
      const { promise, resolve } = Promise.withResolvers<T>()
      waiting.push((session) => resolve(run(session, work)))
      startWaiting()
      return promise
    },
    async close() {
      isClosing = true
      startWaiting()
      await idle.promise
      for (const session of sessions) session.close()
    },
  }
}
