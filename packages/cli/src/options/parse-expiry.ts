import { parseInstant } from '@palisade/policy-core'
import { usageError } from '../runtime/cli-error.ts'
import { parseDuration } from './duration.ts'

const MOST_SECONDS = 3650 * 86_400

/**
 * Reads a time to come: a duration from now such as `8h`, a date, or RFC 3339 in UTC. A time in the
 * past is accepted. Throws a usage error that names `option`.
 */
export function parseExpiry(written: string, option: string, nowMs: number): string {
  if (/^\d{1,9}[smhd]$/.test(written)) {
    const seconds = parseDuration(written, option, { least: 1, most: MOST_SECONDS })
    return new Date(nowMs + seconds * 1000).toISOString()
  }
  const ms = parseInstant(/^\d{4}-\d\d-\d\d$/.test(written) ? `${written}T00:00:00Z` : written)
  if (ms !== null) return new Date(ms).toISOString()
  throw usageError(`\`${option}\` must be a duration such as \`8h\`, or \`2026-12-31T18:00:00Z\``)
}
