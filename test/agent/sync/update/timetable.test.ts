import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createSchedule } from '../../../../agent/src/sync/update/timetable.ts'

/**
 * In the machine's time zone, as cron uses it; some zones differ from UTC by three quarters of an
 * hour.
 */
const at = (time: string): number => Date.parse(`2026-11-21T${time}`)

function nextTimes(expression: string): readonly string[] {
  const next = createSchedule(expression, Date.now)()
  return next.map((ms) => new Date(ms).toTimeString().slice(0, 8))
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a schedule', () => {
  it.each([
    ['*/5 * * * *', '10:07:30', ['10:10:00', '10:15:00']],
    ['*/5 * * * *', '10:10:00', ['10:15:00', '10:20:00']],
    ['*/5 * * * *', '23:57:00', ['00:00:00', '00:05:00']],
    ['*/15 * * * *', '10:44:59', ['10:45:00', '11:00:00']],
    ['* * * * *', '10:07:30', ['10:08:00', '10:09:00']],
    ['*/7 * * * *', '10:50:00', ['10:56:00', '11:00:00']],
    ['*/10 * * * * *', '10:07:31', ['10:07:40', '10:07:50']],
  ])('of %s is next due after %s at %s', (expression, now, times) => {
    vi.setSystemTime(at(now))

    expect(nextTimes(expression)).toEqual(times)
  })

  it.each(['*', '*/1', '*/3', '*/5', '*/15'])(
    'of whole periods equals that of cron: %s',
    (minutes) => {
      for (const now of ['00:00:00', '00:00:01', '07:14:59', '12:30:30', '23:59:59']) {
        vi.setSystemTime(at(now))

        // The same ticks for cron, in a form without the shortcut for whole periods.
        expect(nextTimes(`${minutes} * * * *`)).toEqual(nextTimes(`0 ${minutes} * * * *`))
      }
    },
  )
})
