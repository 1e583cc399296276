/** Seconds from an attempt that failed to the next: eight attempts in about nine hours. */
const WAIT_SECONDS = [5, 30, 120, 600, 1800, 7200, 21_600]
/** Up to this much is added, so that many webhooks of one receiver do not come back at once. */
const JITTER = 0.2

/**
 * When to try again after `attempts` have failed; null when the event is to be given up.
 * `chance` is from 0 to 1.
 */
export function nextAttempt(attempts: number, now: Date, chance: number): Date | null {
  const wait = WAIT_SECONDS[attempts - 1]
  if (wait === undefined) return null
  return new Date(now.getTime() + wait * 1000 * (1 + JITTER * chance))
}
