import type { Steps } from '@palisade/policy-core'
import { setImmediate as pause } from 'node:timers/promises'

/** How long a task may hold the agent's only thread before other work runs. */
const TURN_MS = 4

/**
 * Runs a task that can pause, and lets decisions be made between its turns. Rejects with the reason
 * of `signal` at the first turn after it aborts, and with the error of the task. `uptime` returns
 * monotonic milliseconds.
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
