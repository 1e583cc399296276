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
  try {
    for (;;) {
      signal.throwIfAborted()
      const step = takeTurn(steps, uptime)
      if (step.done === true) return step.value
      await pause()
    }
  } finally {
    // A task that stops early closes its files.
    steps.return(undefined as never)
  }
}

function takeTurn<T>(steps: Steps<T>, uptime: () => number): IteratorResult<void, T> {
  const untilMs = uptime() + TURN_MS
  let step = steps.next()
  while (step.done !== true && uptime() < untilMs) step = steps.next()
  return step
}
