/** RFC 3339 UTC in whole seconds, such as `2026-11-21T08:00:00Z`. */
export function formatTimestamp(instant: Date): string {
  return `${instant.toISOString().slice(0, 19)}Z`
}

/** `now` as the time of a change that followed `previous`: a clock set back never shows in it. */
export function nextTimestamp(previous: string, now: Date): string {
  const timestamp = formatTimestamp(now)
  return timestamp > previous ? timestamp : previous
}
