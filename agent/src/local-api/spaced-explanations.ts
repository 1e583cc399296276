import { setTimeout as pause } from 'node:timers/promises'

/**
 * An explanation reads every rule. With this pause after each, explanations take a fifth of the
 * time.
 */
const PAUSE_FACTOR = 4
/** Lets a caller behind fifteen others be answered within its timeout. */
const MAX_PAUSE_MS = 500

/**
 * Spaces explanations, so that a program that asks for many does not delay decisions. They run in
 * order, each in its own turn of the event loop, with a pause after each. `uptime` returns
 * monotonic milliseconds.
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
    const restNow = (): Promise<void> => rest(Math.min(PAUSE_FACTOR * tookMs, MAX_PAUSE_MS))
    rested = explained.then(restNow, restNow)
    return explained
  }
}
