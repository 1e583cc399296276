import { ApiError } from '../../platform/api-error.ts'

/** `reason` of the refusal, by which it is told from a failure. */
export const OVERLOADED = 'overloaded'

/**
 * Steps of the refused share of requests that begin something, each second that is too slow or
 * quick.
 */
const GROWTH = 0.1
const DECLINE = 0.05
/** How much quicker than the limit it must be before more are served again. */
const QUICK = 0.5
/** `Retry-After` is drawn below a bound between these, the longer the more are turned away. */
const SHORTEST_SECONDS = 30
const LONGEST_SECONDS = 300

/**
 * `begins`: a request that can be made later, such as a poll, a token, a report. `completes`: a
 * request that follows from an earlier answer of this server; to refuse it would waste that work.
 */
export type Yielding = 'begins' | 'completes'

/** How many of the requests that can wait are asked to, so that everything else is served. */
export interface Overload {
  /** Seconds after which a request shall come back; null to serve it now. */
  askToWait(yielding: Yielding): number | null
  /** Takes in how slow the server has been; to be called once a second. */
  note(delayMs: number): void
  /** The newest delay noted, in milliseconds. */
  delayMs(): number
  /** 0 to 1: the share of `begins` requests that is turned away. */
  share(): number
  /** Since the start. */
  turnedAway(): number
}

/**
 * Turns away a share of requests. The share grows while the delay is above `limitMs` and declines
 * while it is below half of that. To turn all away would end the load within a second, and all
 * would return in the next. Drawn for each request, so that no client is turned away every time.
 */
export function createOverload(deps: {
  readonly limitMs: number
  /** 0 to 1, exclusive. */
  readonly random: () => number
}): Overload {
  const { limitMs, random } = deps
  let noted = 0
  let share = 0
  let turnedAway = 0

  return {
    askToWait(yielding) {
      if (share === 0) return null
      if (random() >= (yielding === 'begins' ? share : 2 * share - 1)) return null
      turnedAway += 1
      const boundSeconds = SHORTEST_SECONDS + share * (LONGEST_SECONDS - SHORTEST_SECONDS)
      return 1 + Math.floor(random() * boundSeconds)
    },
    note(delayMs) {
      const wasSlow = noted > limitMs
      noted = delayMs
      // One slow second may be the start, or one long computation.
      if (delayMs > limitMs) share = wasSlow ? Math.min(1, share + GROWTH) : share
      // Set to 0 below a step, because rounding errors would keep it from ever reaching 0.
      else if (delayMs < limitMs * QUICK) share = share < 1.5 * DECLINE ? 0 : share - DECLINE
    },
    delayMs: () => noted,
    share: () => share,
    turnedAway: () => turnedAway,
  }
}

/** With no limit: everybody is served. */
export const UNLIMITED: Overload = {
  askToWait: () => null,
  note: () => undefined,
  delayMs: () => 0,
  share: () => 0,
  turnedAway: () => 0,
}

/** 503, with when to come back. */
export function overloaded(retryAfterSeconds: number): ApiError {
  return new ApiError(503, 'internal', 'the server is overloaded; try again later', {
    reason: OVERLOADED,
    headers: { 'retry-after': String(retryAfterSeconds) },
  })
}
