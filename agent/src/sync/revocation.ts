import type { Bounds } from '../state/trusted-time.ts'
import type { JudgedView } from './judge-view.ts'
import type { Trust } from './trust.ts'

/** Since when the server does not know this machine, in memory and on disk. */
export interface Revocation {
  /** At start: whether this machine is revoked. */
  restore(): boolean
  /** The server has refused the key of this machine. */
  begin(): void
  /** Whether that was signed after the refusal, which ends the revocation. */
  endBy(view: Pick<JudgedView, 'issuedMs' | 'assignedMs'>): boolean
  /** In milliseconds since 1970; null while this machine is not revoked. */
  sinceMs(): number | null
  /** Writes a change that is not on disk yet. Never rejects: one that cannot be written is with the next call. */
  keep(): Promise<void>
}

/**
 * Only timestamp and assignment that are both signed after the refusal end a revocation: any page can be sent in
 * place of the server, an earlier answer can be recorded, and the timestamp of the view goes to other machines as
 * well. The refusal is dated by what the clock shows, and no earlier than the last accepted issue.
 */
export function createRevocation(
  trust: Pick<Trust, 'refusedMs' | 'keepInBoth'>,
  clock: { bounds(): Bounds },
): Revocation {
  let sinceMs: number | null = null

  return {
    sinceMs: () => sinceMs,

    restore() {
      const keptMs = trust.refusedMs()
      sinceMs = keptMs === 0 ? clock.bounds().expiryMs : keptMs
      return sinceMs !== null
    },

    begin() {
      sinceMs ??= clock.bounds().expiryMs
    },

    endBy({ issuedMs, assignedMs }) {
      if (sinceMs === null) return false
      if (Math.min(issuedMs, assignedMs) > sinceMs) {
        sinceMs = null
        return true
      }
      const { futureMs, expiryMs } = clock.bounds()
      // The clock was ahead at the refusal, and a later issue has proved it wrong.
      if (sinceMs > futureMs) sinceMs = Math.min(sinceMs, expiryMs)
      return false
    },

    async keep() {
      if (trust.refusedMs() === sinceMs) return
      const kept = { is_revoked: sinceMs !== null, refused_ms: sinceMs ?? 0 }
      await trust.keepInBoth(kept).catch(() => {})
    },
  }
}
