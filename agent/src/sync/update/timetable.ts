import { createTask } from 'node-cron'

/** A timer does not notice a clock change or a suspended machine, so it must check again. */
const CHECK_MS = 30_000
/**
 * A larger difference between the clock and the elapsed time means a clock change or a suspended
 * machine.
 */
const MAX_DRIFT_MS = 5_000

/** Time zones differ by multiples of 15 minutes, so these are due at the same instants in all. */
const EVERY_MINUTES = /^(?:\*|\*\/(?<minutes>1|3|5|15)) \* \* \* \*$/

/** When to poll: the ticks of a cron expression, shifted by a phase of this process. */
export interface Timetable {
  start(onTick: () => void): void
  stop(): void
  /** Epoch milliseconds of the next tick; null while stopped. */
  nextAt(): number | null
}

/**
 * A timetable whose every tick comes `fraction` (0 to 1, exclusive) of a period after cron's. One
 * fixed phase spreads machines over the whole period and keeps the period: a random delay for each
 * tick would stretch some gaps beyond it, and a change must arrive within one. After a clock change
 * or a suspension, a tick comes within half a minute.
 *
 * node-cron only computes the times. Its own timers wait out a clock that was set back, and iterate
 * over every tick that a clock set forward has skipped, which takes seconds for a year.
 */
export function createTimetable(
  schedule: Schedule,
  fraction: number,
  clock: () => number,
): Timetable {
  let timer: NodeJS.Timeout | undefined
  let nextMs: number | null = null

  const findNext = (): number | null => {
    const [first, second] = schedule()
    if (first === undefined || second === undefined) return null
    const periodMs = second - first
    const shiftedMs = first + Math.floor(fraction * periodMs)
    // The tick of the running period, if its shifted time is still to come.
    return shiftedMs - periodMs > clock() ? shiftedMs - periodMs : shiftedMs
  }

  const arm = (onTick: () => void): void => {
    const armedAtMs = clock()
    const delayMs = Math.min(Math.max((nextMs ?? Infinity) - armedAtMs, 1), CHECK_MS)
    timer = setTimeout(() => {
      const nowMs = clock()
      const isSet = Math.abs(nowMs - armedAtMs - delayMs) > MAX_DRIFT_MS
      const isDue = isSet || (nextMs !== null && nowMs >= nextMs)
      if (isDue) nextMs = findNext()
      arm(onTick)
      if (isDue) onTick()
    }, delayMs)
  }

  return {
    start(onTick) {
      nextMs = findNext()
      arm(onTick)
    },

    stop() {
      clearTimeout(timer)
      nextMs = null
    },

    nextAt: () => nextMs,
  }
}

/** The next two unshifted ticks, in epoch milliseconds; fewer if there are fewer. */
export type Schedule = () => readonly number[]

/**
 * node-cron is used only where a calendar is needed, not for whole periods, such as by default: its
 * tables of calendars take memory for as long as the agent runs, and lengthen its start.
 */
export function createSchedule(expression: string, clock: () => number): Schedule {
  const everyMinutes = EVERY_MINUTES.exec(expression)
  if (everyMinutes === null) {
    const task = createTask(expression, () => {})
    return () => task.getNextRuns(2).map((date) => date.getTime())
  }
  const periodMs = Number(everyMinutes.groups?.['minutes'] ?? 1) * 60_000
  return () => {
    const first = (Math.floor(clock() / periodMs) + 1) * periodMs
    return [first, first + periodMs]
  }
}
