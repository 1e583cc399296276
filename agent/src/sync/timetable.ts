import { schedule, type ScheduledTask } from 'node-cron'

/** When to poll: the ticks of a cron expression, shifted by a phase of this process's own. */
export interface Timetable {
  start(onTick: () => void): void
  stop(): void
  /** Epoch milliseconds of the next tick; null while stopped. */
  nextAt(): number | null
}

/**
 * A timetable whose every tick comes `fraction` (0 to 1, exclusive) of a period after cron's. One
 * fixed phase spreads machines over the whole period and keeps the period: a new random delay for
 * each tick would stretch some gaps beyond it, and a change must arrive within one.
 */
export function createTimetable(
  expression: string,
  fraction: number,
  clock: () => number,
): Timetable {
  /** Ticks that cron has given and that wait for their phase, by their time. */
  const waiting = new Map<NodeJS.Timeout, number>()
  let task: ScheduledTask | null = null
  let phaseMs = 0

  const wait = (delayMs: number, onTick: () => void): void => {
    const timer = setTimeout(() => {
      waiting.delete(timer)
      onTick()
    }, delayMs)
    waiting.set(timer, clock() + delayMs)
  }

  return {
    start(onTick) {
      const cron = schedule(expression, () => wait(phaseMs, onTick), {
        suppressMissedWarning: true,
      })
      task = cron
      const [first, second] = cron.getNextRuns(2).map((date) => date.getTime())
      if (first === undefined || second === undefined) return
      phaseMs = Math.floor(fraction * (second - first))
      // The tick of the period that is already running, when its shifted time is still to come.
      const restMs = first - (second - first) + phaseMs - clock()
      if (restMs > 0) wait(restMs, onTick)
    },

    stop() {
      void task?.destroy()
      task = null
      for (const timer of waiting.keys()) clearTimeout(timer)
      waiting.clear()
    },

    nextAt() {
      const next = task?.getNextRun()?.getTime()
      if (next === undefined) return null
      return Math.min(next + phaseMs, ...waiting.values())
    },
  }
}
