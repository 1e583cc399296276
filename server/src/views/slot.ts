/**
 * When the time of `slotMs` began in which this view is signed anew, in milliseconds since 1970.
 * Every view has its own, so that neither servers nor machines are all busy when the clock strikes.
 */
export function startOfSlot(ms: number, viewId: string, slotMs: number): number {
  const offset = Number.parseInt(viewId.slice(0, 8), 16) % slotMs
  return Math.floor((ms - offset) / slotMs) * slotMs + offset
}
