import { setTimeout as pause } from 'node:timers/promises'

/**
 * An explanation reads every rule, which takes up to a third of a second: a fifth of the time is
 * for them.
 */
const RESTS_AN_EXPLANATION = 4
/** A caller behind fifteen others is answered within its timeout. */
const MAX_REST_MS = 500

/**
 * Spaces explanations, so that a program which asks for one after the other does not hold up
 * decisions: they are made in order, each in a turn of the event loop of its own, with a rest
 * behind each. `uptime` is in monotonic milliseconds.
 */
export function createSpacedExplanations<E>(
  explain: (request: unknown) => E,
  uptime: () => number,
  rest: (ms: number) => Promise<void> = (ms) => pause(ms, undefined, { ref: false }),
): (request: unknown) => Promise<E> {
  let rested: Promise<void> = Promise.resolve()
  return async (request) => {
    let tookMs = 0
    const explained = rested.then(() => {
      const beganMs = uptime()
      try {
        return explain(request)
      } finally {
        tookMs = uptime() - beganMs
      }
    })
    const restNow = (): Promise<void> => rest(Math.min(RESTS_AN_EXPLANATION * tookMs, MAX_REST_MS))
    rested = explained.then(restNow, restNow)
    return explained
  }
}
