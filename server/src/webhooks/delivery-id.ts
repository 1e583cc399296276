/** What a receiver gets as `webhook-id`: by it he tells an event that comes again. */
export function formatDeliveryId(org: string, sequence: number): string {
  return `evt_${org}_${sequence}`
}

/** The sequence in a delivery id of this organization; null for any other text. */
export function parseDeliveryId(org: string, id: string): number | null {
  const sequence = Number(/^evt_.+_([1-9]\d{0,14})$/.exec(id)?.[1] ?? 0)
  return sequence > 0 && formatDeliveryId(org, sequence) === id ? sequence : null
}
