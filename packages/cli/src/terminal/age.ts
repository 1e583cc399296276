const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** How long ago an RFC 3339 instant was, in words: `3 minutes ago`, `in 2 hours`, `just now`. */
export function formatAge(instant: string, nowMs: number): string {
  const atMs = Date.parse(instant)
  if (Number.isNaN(atMs)) return instant
  const seconds = Math.trunc((nowMs - atMs) / 1000)
  const size = Math.abs(seconds)
  const unit = UNITS.find(([, length]) => size >= length)
  if (unit === undefined) return 'just now'
  const count = Math.floor(size / unit[1])
  const words = `${count} ${unit[0]}${count === 1 ? '' : 's'}`
  return seconds > 0 ? `${words} ago` : `in ${words}`
}
