import type { DueWebhook } from '../store/aggregates/history/deliveries.ts'

/** How many webhooks are sent to at a time, by one server. */
export interface SlotLimits {
  readonly total: number
  /** Most slots of one organization: its receivers may all be slow. */
  readonly perOrganization: number
}

/**
 * Assigns the free slots to webhooks: always to one of the organization that has the fewest,
 * among equals the first. `busy` are the organizations of those that are being sent to.
 */
export function assignSlots(
  due: readonly DueWebhook[],
  busy: Iterable<string>,
  { total, perOrganization }: SlotLimits,
): DueWebhook[] {
  const taken = new Map<string, number>()
  const takenBy = (org: string): number => taken.get(org) ?? 0
  let free = total
  for (const org of busy) {
    taken.set(org, takenBy(org) + 1)
    free -= 1
  }
  const waiting = [...due]
  const chosen: DueWebhook[] = []
  while (chosen.length < free) {
    const fewest = Math.min(...waiting.map(({ org }) => takenBy(org)))
    const index = waiting.findIndex(({ org }) => takenBy(org) === fewest)
    const [next] = index === -1 ? [] : waiting.splice(index, 1)
    if (next === undefined || fewest >= perOrganization) break
    taken.set(next.org, fewest + 1)
    chosen.push(next)
  }
  return chosen
}
