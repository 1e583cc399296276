import { hash } from 'node:crypto'
import type { EventHead, EventRecord } from '../store/records.ts'
import { formatCanonicalJson } from './canonical-json.ts'

/**
 * The hashed text begins with this line, so that no other text of the server can stand for an
 * event. A chain hashed in another way would carry another number here, and be checked by it.
 */
const DOMAIN = 'palisade event 1\n'

/** The head that the first event of an organization follows. */
export const EMPTY_HISTORY: EventHead = { sequence: 0, hash: '0'.repeat(64) }

/** SHA-256, lower-case hexadecimal, over all of the event but its own hash. */
export function hashEvent(event: Omit<EventRecord, 'hash'>): string {
  return hashEventText(eventText(event))
}

/** All of an event but its hash, in canonical JSON. */
export function eventText(event: Omit<EventRecord, 'hash'>): string {
  return formatCanonicalJson(hashedOf(event))
}

/** The hash of the event that has this `eventText`. */
export function hashEventText(text: string): string {
  return hash('sha256', DOMAIN + text, 'hex')
}

/** In the canonical order, so that sorting is unnecessary. */
function hashedOf(event: Omit<EventRecord, 'hash'>) {
  const { actor, address, after, at, before, kind, org } = event
  const { previous_hash, request_id, revision, sequence, subject } = event
  const hashed: Required<Omit<EventRecord, 'hash'>> = {
    actor,
    address,
    after,
    at,
    before,
    kind,
    org,
    previous_hash,
    request_id,
    revision,
    sequence,
    subject,
  }
  return hashed
}
