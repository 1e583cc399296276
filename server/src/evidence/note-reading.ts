import type { AuditedStore } from '../history/audit/audited-store.ts'
import { createRateLimiter } from '../identity/limits/rate-limiter.ts'
import { formatPrincipal, type Caller } from '../identity/principal.ts'

/** A caller that follows the log reads it every few seconds. */
const NOTED_EVERY_MS = 60 * 60_000

/** Reading the decisions of others is itself in the history, once an hour for each caller. */
export type NoteReading = (caller: Caller, org: string) => Promise<void>

/** `purpose` is null for the log itself. */
export function createNoteReading(
  {
    store,
    monotonicMs,
  }: { readonly store: Pick<AuditedStore, 'note'>; readonly monotonicMs: () => number },
  purpose: 'replay' | 'suggestions' | null,
): NoteReading {
  const noted = createRateLimiter({ most: 1, windowMs: NOTED_EVERY_MS }, monotonicMs)
  /** Readings at once are one reading. */
  const running = new Map<string, Promise<unknown>>()
  return async (caller, org) => {
    const reader = formatPrincipal(caller)
    const key = `${org} ${reader}`
    if (noted.waitSeconds(key) > 0) return
    const note =
      running.get(key) ??
      store
        .note(caller.author, {
          scope: { org },
          kind: 'audit_log.read',
          subject: { id: org, name: org },
          before: null,
          after: { reader, ...(purpose === null ? {} : { for: purpose }) },
        })
        .then(() => noted.add(key))
        .finally(() => running.delete(key))
    running.set(key, note)
    await note
  }
}
