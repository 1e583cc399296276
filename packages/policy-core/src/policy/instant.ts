const FORM = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,3}))?Z$/

const DAY_MS = 86_400_000
const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const
/** Days from the first day of the year 0 to that of 1970. */
const DAYS_TO_1970 = 719_528

/**
 * The milliseconds since 1970 of an RFC 3339 time in UTC with at most milliseconds, such as
 * `2026-11-26T14:00:00Z`; null for any other text. A time with an offset is refused, and so are a
 * leap second and a day that does not exist: a reader may take each for another instant.
 */
export function parseInstant(text: string): number | null {
  const form = FORM.exec(text)
  if (form === null) return null
  const part = (index: number): number => Number(form[index])
  const days = daysSince1970(part(1), part(2), part(3))
  const [hour, minute, second] = [part(4), part(5), part(6)]
  if (days === null || hour > 23 || minute > 59 || second > 59) return null
  const seconds = (hour * 60 + minute) * 60 + second
  return days * DAY_MS + seconds * 1000 + Number((form[7] ?? '').padEnd(3, '0'))
}

/** In the Gregorian calendar, also before its time; null for a day that does not exist. */
function daysSince1970(year: number, month: number, day: number): number | null {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const lengths = DAYS_OF_MONTH.map((days, index) => (index === 1 && isLeap ? 29 : days))
  const length = lengths[month - 1]
  if (length === undefined || day < 1 || day > length) return null
  const ofMonths = lengths.slice(0, month - 1).reduce((sum, days) => sum + days, 0)
  return 365 * year + leapYearsBefore(year) + ofMonths + day - 1 - DAYS_TO_1970
}

/** The number of leap years from the year 0, which is one, up to `year`. */
function leapYearsBefore(year: number): number {
  return Math.ceil(year / 4) - Math.ceil(year / 100) + Math.ceil(year / 400)
}
