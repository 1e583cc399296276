import { createFairQueue, type FairQueue, type LanePath } from '../../work/fair-queue.ts'
import { ApiError } from '../../platform/api-error.ts'

/** A running hash takes 19 MiB and one of libuv's four threads, which file access needs too. */
const MAX_RUNNING = 2
const MAX_WAITING = 64
/** Strangers get every fourth turn, and doubtful networks every fourth of those. */
const STRANGERS_TURN = 4

/**
 * `known`: a network from which the account has signed in, or a caller who is signed in.
 * `doubtful`: a network near one that recently sent wrong secrets.
 */
export type Standing = 'known' | 'stranger' | 'doubtful'

/** The requester of slow work. */
export interface Requester {
  /** A caller who is signed in, or nested networks, the widest first. */
  readonly path: LanePath
  readonly standing: Standing
}

/**
 * Runs at most two pieces of slow work at once; up to 64 others wait. Known requesters go first,
 * then strangers, then doubtful networks; each standing has a guaranteed share of the turns. Within
 * a standing, networks take turns at each level, so that many addresses of one network do not
 * starve other networks. A guesser makes each of their networks doubtful after a few guesses, so
 * newcomers go first.
 *
 * When the queue is full, a request replaces one of a worse standing, or one from a longer lane.
 * A request that gets no slot, or loses it, is refused with 429.
 */
export interface PasswordQueue {
  run<T>(requester: Requester, work: () => Promise<T>): Promise<T>
  /** Number of waiting pieces of work. */
  waiting(): number
}

interface Waiting {
  readonly begin: () => void
  readonly refuse: (error: ApiError) => void
}

export function createPasswordQueue(): PasswordQueue {
  const known = createFairQueue<Waiting>()
  const stranger = createFairQueue<Waiting>()
  const doubtful = createFairQueue<Waiting>()
  const queues: Readonly<Record<Standing, FairQueue<Waiting>>> = { known, stranger, doubtful }
  const waiting = () => known.size() + stranger.size() + doubtful.size()
  let running = 0
  let turn = 0

  async function enter(requester: Requester): Promise<void> {
    if (running < MAX_RUNNING) {
      running += 1
      return
    }
    if (waiting() >= MAX_WAITING && !makeRoom(requester)) throw tooManyRequests(1)
    await new Promise<void>((begin, refuse) => {
      queues[requester.standing].push(requester.path, { begin, refuse })
    })
  }

  function makeRoom({ path, standing }: Requester): boolean {
    const own = queues[standing]
    for (const worst of [doubtful, stranger, known]) {
      const refused = worst === own ? own.makeRoom(path) : worst.dropLongest()
      refused?.refuse(tooManyRequests(1))
      if (refused !== undefined || worst === own) return refused !== undefined
    }
    return false
  }

  function takeNext(): Waiting | undefined {
    turn += 1
    const order = orderOf(turn)
    return order[0]?.shift() ?? order[1]?.shift() ?? order[2]?.shift()
  }

  function orderOf(nth: number): readonly FairQueue<Waiting>[] {
    if (nth % (STRANGERS_TURN * STRANGERS_TURN) === 0) return [doubtful, stranger, known]
    if (nth % STRANGERS_TURN === 0) return [stranger, doubtful, known]
    return [known, stranger, doubtful]
  }

  /** Passes the free slot on: `running` only decreases when no work is waiting. */
  function leave(): void {
    const next = takeNext()
    if (next === undefined) running -= 1
    else next.begin()
  }

  return {
    async run(requester, work) {
      await enter(requester)
      try {
        return await work()
      } finally {
        leave()
      }
    },
    waiting,
  }
}

/** 429 with `Retry-After`. */
export function tooManyRequests(retryAfterSeconds: number): ApiError {
  return new ApiError(429, 'limit_exceeded', 'too many attempts; wait and try again', {
    headers: { 'retry-after': String(retryAfterSeconds) },
  })
}
