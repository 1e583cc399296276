import type { Steps } from '@palisade/policy-core'
import { setImmediate as pause } from 'node:timers/promises'

/** How long work holds the agent's only thread before what waits has its turn. */
const TURN_MS = 4

/**
 * Runs work that can pause, and lets decisions be made between its turns. Rejects with the reason
 * of `signal` as soon as that is aborted, and with the error of the work. `uptime` is in monotonic
 * milliseconds.
 */
export async function runInTurns<T>(
  steps: Steps<T>,
  signal: AbortSignal,
  uptime: () => number,
): Promise<T> {
  for (;;) {
    signal.throwIfAborted()
    const untilMs = uptime() + TURN_MS
    do {
      const step = steps.next()
      if (step.done === true) return step.value
    } while (uptime() < untilMs)
    await pause()
  }
}
