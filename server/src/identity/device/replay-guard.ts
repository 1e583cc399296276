import { hash } from 'node:crypto'
import { createDigestSet, type DigestSet } from './digest-set.ts'
import { PROOF_LIFE_MS } from './verify-proof.ts'

/**
 * A change takes a machine six, so a fleet of 100,000 has three of them within the life of a proof
 * and the one before (bench: server/proofs).
 */
const MAX_PROOFS = 2_000_000
/**
 * Of one payer within the life of a proof; a machine that fetches all of its view needs a third.
 */
const MAX_PROOFS_OF_KEY = 1_000

/** Remembers which proofs were used, for as long as they could be used again. */
export interface ReplayGuard {
  /**
   * `fresh` the first time. `used_up` when the payer has had its share, and `full` when nothing
   * more can be remembered: then nobody is let in by a proof, because forgetting one would be to
   * accept it twice. `payer` is whose room it takes: of the key itself, unless somebody else is
   * there to make any number of keys.
   */
  admit(thumbprint: string, jti: string, payer?: string): 'fresh' | 'replayed' | 'used_up' | 'full'
}

interface Span {
  endsAtMs: number
  readonly proofs: DigestSet
  readonly counts: Map<string, number>
}

/**
 * Two spans, each as long as a proof can be used at most (its life before `iat` and after): what
 * was used in the one before is remembered until the present one ends, so nothing has an expiry of
 * its own. In memory, so each server behind one address takes a proof once.
 */
export function createReplayGuard(
  now: () => Date,
  limits = { proofs: MAX_PROOFS, ofKey: MAX_PROOFS_OF_KEY },
): ReplayGuard {
  let present = startSpan(now().getTime())
  let before = startSpan(0)

  function turn(): void {
    const nowMs = now().getTime()
    if (nowMs < present.endsAtMs) return
    // After a pause of two spans there is nothing left of either.
    before = nowMs < present.endsAtMs + SPAN_MS ? present : startSpan(0)
    present = startSpan(nowMs)
  }

  return {
    admit(thumbprint, jti, payer = thumbprint) {
      turn()
      const name = hash('sha256', `${thumbprint}\n${jti}`, 'buffer')
      if (present.proofs.has(name) || before.proofs.has(name)) return 'replayed'
      const count = present.counts.get(payer) ?? 0
      if (count >= limits.ofKey) return 'used_up'
      if (present.proofs.size() + before.proofs.size() >= limits.proofs) return 'full'
      present.counts.set(payer, count + 1)
      present.proofs.add(name)
      return 'fresh'
    },
  }
}

const SPAN_MS = 2 * PROOF_LIFE_MS

function startSpan(nowMs: number): Span {
  return { endsAtMs: nowMs + SPAN_MS, proofs: createDigestSet(), counts: new Map() }
}
