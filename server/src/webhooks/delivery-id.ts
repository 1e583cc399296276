import type { EventHead } from '../store/records.ts'

/** Characters of the event's hash: 128 bits. */
const HASH_LENGTH = 32
const FORM = /^evt_([1-9]\d{0,14})_[0-9a-f]{32}$/

/**
 * The `webhook-id` of a delivery, by which a receiver detects a repeated event. It includes the
 * hash because a restored history counts on from the backup, with other events.
 */
export function formatDeliveryId({ sequence, hash }: EventHead): string {
  return `evt_${sequence}_${hash.slice(0, HASH_LENGTH)}`
}

/** The sequence in a text of the form of a delivery id; null for any other text. */
export function parseDeliveryId(id: string): number | null {
  const sequence = FORM.exec(id)?.[1]
  return sequence === undefined ? null : Number(sequence)
}
