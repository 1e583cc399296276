import type { EvidenceTuple } from '../store/evidence-record.ts'

/**
 * Why a recorded decision differs from that of the policies in force.
 *
 * - `break_glass`, `no_policy`, `policy_expired`, `unsupported_policy`: the state of the machine.
 * - `observed`: the machine allowed a request that no rule matched.
 * - `local_rule`: a rule of the machine's user denied.
 * - `grant`: a grant of access allowed.
 * - `revision`: another revision decided, or a rule has expired since.
 * - `other`: the revision is the same. The teams of the user, the home directory or the addresses
 *   of the machine differ, or an address decided that the record does not have.
 */
export const DRIFT_CAUSES = [
  'break_glass',
  'no_policy',
  'policy_expired',
  'unsupported_policy',
  'observed',
  'local_rule',
  'grant',
  'revision',
  'other',
] as const
export type DriftCause = (typeof DRIFT_CAUSES)[number]

const STATES: ReadonlySet<string> = new Set([
  'no_policy',
  'policy_expired',
  'unsupported_policy',
  'observed',
])

/** `revision` is that of the policies in force. */
export function explainDrift(
  { break_glass, reason, rules, revision: recorded }: EvidenceTuple,
  revision: number | null,
): DriftCause {
  if (break_glass) return 'break_glass'
  if (STATES.has(reason)) return reason as DriftCause
  if (rules.some(({ origin }) => origin === 'local')) return 'local_rule'
  if (rules.some(({ origin }) => origin === 'grant')) return 'grant'
  return recorded === revision ? 'other' : 'revision'
}
