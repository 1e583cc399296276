import { CODES_WITHOUT_POLICY } from '@palisade/protocol'

/** Why an attempt to fetch brought nothing into force; stable, seen in `palisade status`. */
const FAULT_CODES = [
  // the way to the server
  'unreachable',
  'timeout',
  'stopping',
  // what the server answered
  'unauthorized',
  'revoked',
  'proof_refused',
  'busy',
  'http_status',
  'redirected',
  'not_modified_without_bundle',
  'foreign_answer',
  'empty',
  'too_large',
  'truncated',
  // what the document is
  'malformed',
  'bad_signature',
  'mixed',
  'wrong_organization',
  'wrong_device',
  'wrong_user',
  'wrong_view',
  'older_version',
  'older_issue',
  'issued_in_future',
  'lives_too_long',
  'expired',
  'unsupported_policy',
  'not_compilable',
  'self_test_failed',
  // this machine
  'cache_not_written',
  'internal',
] as const
export type FaultCode = (typeof FAULT_CODES)[number]

const AWAY: ReadonlySet<FaultCode> = new Set(CODES_WITHOUT_POLICY)

/** What a failed attempt is to the machine: an event of `state/agent-state.ts`. */
export function eventOfFault(code: FaultCode): { readonly kind: 'away' | 'refused' | 'revoked' } {
  if (code === 'revoked') return { kind: 'revoked' }
  return { kind: AWAY.has(code) ? 'away' : 'refused' }
}

/** A named reason; whatever was in force before stays in force. */
export interface Fault {
  readonly kind: 'fault'
  readonly code: FaultCode
  /** Lower-case sentence without a full stop. */
  readonly message: string
  /** How long the server asked us to stay away (`Retry-After` of a 429 or 503). */
  readonly retryAfterMs?: number
}

/** Of an answer that no server of ours gives; `found` says how it was told. */
export function foreignFault(found: string): Fault {
  const message = 'the network answers in place of the server (captive portal?)'
  return fault('foreign_answer', `${message}: ${found}`)
}

/** Of an exception that nothing foresaw. */
export function internalFault(error: unknown): Fault {
  const reason = error instanceof Error ? error.message : String(error)
  return fault('internal', `the agent failed: ${reason}; report this`)
}

/** What could not be written is not put into force: after a restart it would be gone. */
export function describeDiskFault(error: unknown): Fault {
  const reason = error instanceof Error ? error.message : String(error)
  return fault('cache_not_written', `the policy cannot be kept on disk: ${reason}`)
}

/**
 * Names that anybody may have made up are in messages, as long as the answer that holds them; each
 * failed attempt would write one of 8 MiB to the log.
 */
const MAX_MESSAGE = 512

export function fault(code: FaultCode, message: string): Fault {
  const isLong = message.length > MAX_MESSAGE
  return {
    kind: 'fault',
    code,
    message: isLong ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message,
  }
}
