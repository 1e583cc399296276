import { ApiError } from '../../http/api-error.ts'

/** Each running hash holds 19 MiB and one of libuv's four threads, which the disk needs too. */
const MAX_RUNNING = 2
const MAX_WAITING = 64
/** Of so many turns strangers get one while others wait. */
const STRANGERS_TURN = 4

/** Whose work it is. */
export interface QueuePlace {
  /** Takes turns with all other lanes: a network, or a caller who is signed in. */
  readonly lane: string
  /** Whether the lane has proven itself for this account; then it goes before strangers. */
  readonly isKnown: boolean
}

/**
 * Runs at most two pieces of slow work at once. 64 others wait: lanes take turns, and a new lane is
 * the last of them, so that many requests of one network, or of many new networks, do not starve
 * the others. When the queue is full, known lanes take the places of strangers and short lanes those
 * of long ones; who finds or keeps no place gets 429.
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

/** By lane, the next to have its turn first. */
type Lanes = Map<string, Waiting[]>

export function createPasswordQueue(): PasswordQueue {
  const known: Lanes = new Map()
  const strangers: Lanes = new Map()
  let waiting = 0
  let running = 0
  let turn = 0

  async function enter({ lane, isKnown }: QueuePlace): Promise<void> {
    if (running < MAX_RUNNING) {
      running += 1
      return
    }
    const lanes = isKnown ? known : strangers
    if (waiting >= MAX_WAITING && !makeRoom(lane, isKnown)) throw tooManyRequests(1)
    await new Promise<void>((begin, refuse) => {
      lanes.set(lane, [...(lanes.get(lane) ?? []), { begin, refuse }])
      waiting += 1
    })
  }

  /** Refuses the last one of the longest lane for one of `lane`, if that is shorter or known. */
  function makeRoom(lane: string, isKnown: boolean): boolean {
    const lanes = strangers.size > 0 ? strangers : known
    if (lanes === known && !isKnown) return false
    const [name, longest] = [...lanes].reduce((one, other) =>
      other[1].length > one[1].length ? other : one,
    )
    const isBetter = isKnown && lanes === strangers
    if (!isBetter && longest.length <= (lanes.get(lane)?.length ?? 0) + 1) return false
    const refused = longest.pop()
    if (longest.length === 0) lanes.delete(name)
    waiting -= 1
    refused?.refuse(tooManyRequests(1))
    return true
  }

  function takeNext(): Waiting | undefined {
    turn += 1
    const order = turn % STRANGERS_TURN === 0 ? [strangers, known] : [known, strangers]
    for (const lanes of order)
      for (const [lane, places] of lanes) {
        const next = places.shift()
        lanes.delete(lane)
        if (places.length > 0) lanes.set(lane, places)
        waiting -= 1
        return next
      }
    return undefined
  }

  /** The place passes to the next in line, so `running` stays as it is while somebody waits. */
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
    waiting: () => waiting,
  }
}

/** 429 with `Retry-After`. */
export function tooManyRequests(retryAfterSeconds: number): ApiError {
  return new ApiError(429, 'limit_exceeded', 'too many attempts; wait and try again', {
    headers: { 'retry-after': String(retryAfterSeconds) },
  })
}
