const DAY_MS = 24 * 60 * 60 * 1000

/** Days since 1970, UTC. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS)
}

/** Epoch milliseconds of the beginning of a day. */
export function startOfDay(day: number): number {
  return day * DAY_MS
}

/** The days that rows of a batch are filed under. */
export function daysOf(rows: readonly { readonly last_ms: number }[]): ReadonlySet<number> {
  return new Set(rows.map(({ last_ms }) => dayOf(last_ms)))
}
