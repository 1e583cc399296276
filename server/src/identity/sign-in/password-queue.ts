import { createFairQueue, type FairQueue, type LanePath } from '../../platform/fair-queue.ts'
import { ApiError } from '../../platform/api-error.ts'

/** Each running hash holds 19 MiB and one of libuv's four threads, which the disk needs too. */
const MAX_RUNNING = 2
const MAX_WAITING = 64
/**
 * Of so many turns strangers get one while known lanes wait, and doubtful ones of so many of
 * theirs.
 */
const STRANGERS_TURN = 4

/**
 * `known` for a network that has proven itself for the account, and for callers who are signed in;
 * `doubtful` for one with wrong secrets in its neighbourhood a short while ago.
 */
export type Standing = 'known' | 'stranger' | 'doubtful'

/** Whose work it is. */
export interface QueuePlace {
  /** A caller who is signed in, or networks within networks. */
  readonly path: LanePath
  readonly standing: Standing
}

/**
 * Runs at most two pieces of slow work at once. 64 others wait. Known lanes go first, then
 * strangers, then doubtful ones, each with a share that the others cannot take. Within a standing,
 * networks take turns level by level, so that many addresses of one network do not starve the
 * others: a guesser leaves a doubtful network behind with each few guesses, and a newcomer's goes
 * before it.
 *
 * When the queue is full, a better standing takes places of a worse one, and short lanes those of
 * long ones; a request that finds or keeps no place gets 429.
 */
export interface PasswordQueue {
  run<T>(place: QueuePlace, work: () => Promise<T>): Promise<T>
  /** How much waits for its turn. */
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

  async function enter(place: QueuePlace): Promise<void> {
    if (running < MAX_RUNNING) {
      running += 1
      return
    }
    if (waiting() >= MAX_WAITING && !makeRoom(place)) throw tooManyRequests(1)
    await new Promise<void>((begin, refuse) => {
      queues[place.standing].push(place.path, { begin, refuse })
    })
  }

  function makeRoom({ path, standing }: QueuePlace): boolean {
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

  /** The place passes to the next in line, so `running` stays as it is while one waits. */
  function leave(): void {
    const next = takeNext()
    if (next === undefined) running -= 1
    else next.begin()
  }

  return {
    async run(place, work) {
      await enter(place)
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
