import { usageError } from '../runtime/cli-error.ts'
import { parseDuration } from './duration.ts'

const MAX_AGE_SECONDS = 3650 * 86_400
const AGE = /^\d{1,9}[smhd]$/

/**
 * Reads an age such as `30d`, a date, or RFC 3339. Returns RFC 3339, checked for slips only: the
 * server also accepts an offset and fractions. Throws a usage error that names `option`.
 */
export function parseInstant(written: string, option: string, nowMs: number): string {
  if (AGE.test(written)) {
    const seconds = parseDuration(written, option, { least: 0, most: MAX_AGE_SECONDS })
    return new Date(nowMs - seconds * 1000).toISOString()
  }
  if (/^\d{4}-\d{2}-\d{2}T/.test(written)) return written
  if (/^\d{4}-\d{2}-\d{2}$/.test(written)) return `${written}T00:00:00Z`
  throw usageError(`\`${option}\` must be an age such as \`30d\`, or \`2026-11-01T00:00:00Z\``)
}

/** The start of a period in a sentence: `in the last 30d`, or `since 2026-11-01`. */
export function describeStart(written: string): string {
  return AGE.test(written) ? `in the last ${written}` : `since ${written}`
}
