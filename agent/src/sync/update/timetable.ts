import { createTask } from 'node-cron'

/** A timer does not see that the clock was set, nor that the machine slept: it must look again. */
const LOOK_MS = 30_000
/**
 * More than this between the clock and the time that really passed, and one of the two happened.
 */
const MAX_DRIFT_MS = 5_000

/** Time zones differ by multiples of 15 minutes, so these are due at the same instants in all. */
const EVERY_MINUTES = /^(?:\*|\*\/(?<minutes>1|3|5|15)) \* \* \* \*$/

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
 * each tick would stretch some gaps beyond it, and a change must arrive within one. When the clock
 * was set or the machine slept, a tick comes within half a minute.
 *
 * cron is only asked for its times. Its own timers wait out a clock that was set back, and walk
 * through every tick that a clock set forward has left out: a year of them takes seven seconds.
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
    // The tick of the period that is already running, when its shifted time is still to come.
    return shiftedMs - periodMs > clock() ? shiftedMs - periodMs : shiftedMs
  }

  const arm = (onTick: () => void): void => {
    const armedAtMs = clock()
    const delayMs = Math.min(Math.max((nextMs ?? Infinity) - armedAtMs, 1), LOOK_MS)
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

/** Cron's part: the next two ticks after now, epoch milliseconds; fewer where there are none. */
export type Schedule = () => readonly number[]

/**
 * cron is asked where a calendar is needed; for whole periods, such as by default, it is not: the
 * tables of calendars that it loads hold 8 MiB for as long as the agent runs, and 50 ms of its
 * start.
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
