import type { AuditEvent } from '@palisade/protocol'
import { createTurnEnds } from '../../platform/next-turn.ts'

/**
 * How a receiver has answered.
 *
 * - `taken`: it has the records, except `refused` of them, which it will never take.
 * - `refused`: it will not take these records together, perhaps because of one of them.
 * - `failed`: it could not be asked, or asks to be asked later.
 */
export type Receipt =
  | { readonly kind: 'taken'; readonly refused: number }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'failed'; readonly why: string; readonly retryAfterMs: number | null }

/** A program outside that keeps decision records. */
export interface Receiver {
  /** Whether `taken` is the receiver's own word. */
  readonly acknowledges: boolean
  /** Never rejects. One call at a time. */
  send(events: readonly AuditEvent[]): Promise<Receipt>
  /** Ends a call that goes on, as failed. */
  close(): void
}

/** The longest that a receiver may take to answer. */
export const SEND_TIMEOUT_MS = 20_000

/** Machines choose how long the names of an event are, so others have their turn between two. */
export async function formatInTurns(
  events: readonly AuditEvent[],
  format: (event: AuditEvent) => string,
): Promise<string[]> {
  const pause = createTurnEnds()
  const texts: string[] = []
  for (const event of events) {
    texts.push(format(event))
    await pause()
  }
  return texts
}

export function failed(why: string, retryAfterMs: number | null = null): Receipt {
  return { kind: 'failed', why, retryAfterMs }
}
