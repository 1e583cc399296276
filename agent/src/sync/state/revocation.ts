import { randomBytes } from 'node:crypto'
import type { VerifiedView } from '../trust/verify-view.ts'
import type { StateKeeper } from './state-keeper.ts'

const NONCE_BYTES = 16

/** Whether the server does not know this machine, in memory and on disk. */
export interface Revocation {
  /** At start: whether this machine is revoked. */
  restore(): boolean
  /** The server has refused the key of this machine. */
  begin(): void
  /**
   * A nonce for one attempt, which replaces the one before. Null while this machine is not revoked.
   */
  challenge(): string | null
  /** Whether that answers the newest challenge, which ends the revocation. */
  endBy(view: Pick<VerifiedView, 'nonce'>): boolean
  /**
   * Writes a change that is not on disk yet. Never rejects: one that cannot be written is with the
   * next call.
   */
  keep(): Promise<void>
}

/**
 * Only an assignment into which the server has signed the nonce of the very attempt ends a
 * revocation. Any page can be sent in place of the server, an earlier answer can be recorded, and
 * no date says when something was signed: the clocks of machine and server differ. A nonce that
 * served for two attempts could be answered before a later refusal.
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
