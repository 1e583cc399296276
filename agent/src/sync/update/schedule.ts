import { createTask } from 'node-cron'

/** Cron's part: the next two ticks after now, epoch milliseconds; fewer where there are none. */
export type Schedule = () => readonly number[]

/** Time zones differ by multiples of 15 minutes, so these are due at the same instants in all. */
const EVERY_MINUTES = /^(?:\*|\*\/(?<minutes>1|3|5|15)) \* \* \* \*$/

/**
 * cron is asked where a calendar is needed; for whole periods, such as by default, it is not: the
 * tables of calendars that it loads hold 8 MiB for as long as the agent runs, and 50 ms of its start.
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
