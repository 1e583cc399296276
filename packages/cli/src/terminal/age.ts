const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** How long ago an RFC 3339 instant was, in words: `3 minutes ago`, `in 2 hours`, `just now`. */
export function formatAge(instant: string, nowMs: number): string {
  const ms = nowMs - Date.parse(instant)
  if (Number.isNaN(ms)) return instant
  const words = wordsOf(ms)
  if (words === null) return 'just now'
  return ms > 0 ? `${words} ago` : `in ${words}`
}

/** How long something has lasted since an RFC 3339 instant, in words: `for 3 minutes`. */
export function formatSpan(since: string, nowMs: number): string {
  const ms = nowMs - Date.parse(since)
  if (Number.isNaN(ms)) return `since ${since}`
  return `for ${(ms > 0 ? wordsOf(ms) : null) ?? 'less than a second'}`
}

/** Null for less than a second. */
function wordsOf(ms: number): string | null {
  const size = Math.trunc(Math.abs(ms) / 1000)
  const unit = UNITS.find(([, length]) => size >= length)
  if (unit === undefined) return null
  const count = Math.floor(size / unit[1])
  return `${count} ${unit[0]}${count === 1 ? '' : 's'}`
}
