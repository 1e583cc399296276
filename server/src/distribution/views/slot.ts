const HOUR_MS = 60 * 60 * 1000

/**
 * When the hour began in which this view is signed anew, in milliseconds since 1970. Every view has
 * its own, so that neither servers nor machines are all busy when the clock strikes.
 */
export function startOfSlot(ms: number, viewId: string): number {
  const offset = Number.parseInt(viewId.slice(0, 8), 16) % HOUR_MS
  return Math.floor((ms - offset) / HOUR_MS) * HOUR_MS + offset
}
