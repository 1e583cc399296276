import { randomBytes } from 'node:crypto'
import type { VerifiedView } from '../trust/verify-view.ts'
import type { StateKeeper } from './state-keeper.ts'

const NONCE_BYTES = 16

/** Whether the server has revoked this machine, in memory and on disk. */
export interface Revocation {
  /** Call at start; returns whether this machine is revoked. */
  restore(): boolean
  /** Records that the server has refused the key of this machine. */
  begin(): void
  /**
   * Returns a nonce for one attempt, which replaces the one before; null while this machine is not
   * revoked.
   */
  challenge(): string | null
  /** Whether the view answers the newest challenge, which ends the revocation. */
  endBy(view: Pick<VerifiedView, 'nonce'>): boolean
  /**
   * Writes a change that is not on disk yet. Never rejects; the next call retries a failed write.
   */
  keep(): Promise<void>
}

/**
 * A revocation ends only with an assignment in which the server has signed the nonce of the same
 * attempt. Any page may come in place of the server, an earlier answer may be replayed, and a date
 * proves no order, because the clocks of machine and server differ. A nonce that served for two
 * attempts could be answered before a later refusal.
 */
export function createRevocation(
  keeper: Pick<StateKeeper, 'isRevoked' | 'keepInBoth'>,
): Revocation {
  let isRevoked = false
  let nonce: string | null = null

  return {
    restore() {
      isRevoked = keeper.isRevoked()
      return isRevoked
    },

    begin() {
      isRevoked = true
      nonce = null
    },

    challenge() {
      nonce = isRevoked ? randomBytes(NONCE_BYTES).toString('base64url') : null
      return nonce
    },

    endBy(view) {
      if (nonce === null || view.nonce !== nonce) return false
      isRevoked = false
      nonce = null
      return true
    },

    async keep() {
      if (keeper.isRevoked() === isRevoked) return
      await keeper.keepInBoth({ is_revoked: isRevoked }).catch(() => {})
    },
  }
}
