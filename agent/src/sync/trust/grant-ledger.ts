import type { Grant } from '@palisade/protocol'
import { z } from 'zod'
import { instantMs } from '../../policy/state/instant.ts'

/** Beyond this many, the oldest used grants are remembered only as `passed_ms`. */
const MAX_USED = 32

/**
 * Grants that this machine has used, in both copies of its state. Only this makes a grant
 * single-use.
 */
export const grantLedgerSchema = z.strictObject({
  used: z.array(z.strictObject({ id: z.string(), issued_ms: instantMs })),
  /** Grants issued up to this time are refused, in milliseconds since 1970. */
  passed_ms: instantMs,
  /** The grant in force: its text, and the trusted time at which it began. */
  current: z.strictObject({ text: z.string(), begun_ms: instantMs }).nullable(),
})
export type GrantLedger = z.infer<typeof grantLedgerSchema>

/** How much of the grant with this id is paid for. */
export const keptMeterSchema = z.strictObject({ id: z.string(), paid_ms: z.int().nonnegative() })
export type KeptMeter = z.infer<typeof keptMeterSchema>

export const NO_GRANTS: GrantLedger = { used: [], passed_ms: 0, current: null }

/** Whether a grant may have been begun before. */
export function isUsed(ledger: GrantLedger, { id, issued }: Grant['signed']): boolean {
  return Date.parse(issued) <= ledger.passed_ms || ledger.used.some((used) => used.id === id)
}

/** The ledger after the grant is begun. */
export function withBegun(
  ledger: GrantLedger,
  grant: { readonly signed: Grant['signed']; readonly text: string },
  begunMs: number,
): GrantLedger {
  const { id, issued } = grant.signed
  const all = [...ledger.used, { id, issued_ms: Date.parse(issued) }].toSorted(
    (a, b) => a.issued_ms - b.issued_ms,
  )
  const dropped = all.slice(0, -MAX_USED)
  return {
    used: all.slice(-MAX_USED),
    passed_ms: Math.max(ledger.passed_ms, ...dropped.map(({ issued_ms }) => issued_ms)),
    current: { text: grant.text, begun_ms: begunMs },
  }
}

export function withEnded(ledger: GrantLedger): GrantLedger {
  return { ...ledger, current: null }
}
