import { hash } from 'node:crypto'
import { createDigestSet, type DigestSet } from './digest-set.ts'
import { PROOF_LIFE_MS } from './verify-proof.ts'

/**
 * Proofs within two spans. A policy change costs a machine six proofs, so a fleet of 100,000
 * machines may fetch three changes in that time. bench: fleet/proofs
 */
const MAX_PROOFS = 2_000_000
/** Proofs of one payer within a span. A machine that fetches all of its view needs a third. */
const MAX_PROOFS_OF_KEY = 1_000

/** Remembers used proofs for as long as they could be replayed. */
export interface ReplayGuard {
  /**
   * Returns `fresh` at the first use. Returns `used_up` when the payer has had its share, and
   * `full` when there is no room for another proof: the proof is then refused, because forgetting
   * one would allow its replay. The room is charged to `payer`: to the key itself, unless the
   * caller can create any number of keys.
   */
  admit(thumbprint: string, jti: string, payer?: string): 'fresh' | 'replayed' | 'used_up' | 'full'
}

interface Span {
  endsAtMs: number
  readonly proofs: DigestSet
  readonly counts: Map<string, number>
}

/**
 * Keeps two spans. A span lasts as long as a proof is valid (its life before and after `iat`).
 * Proofs of the previous span stay until the current one ends, so entries need no expiry of their
 * own. The guard is in memory: with several servers, each accepts a proof once.
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
    // After a pause of more than a span, the proofs of `present` are too old as well.
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
