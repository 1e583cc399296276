import { CODES_WITHOUT_POLICY } from '@palisade/protocol'

/**
 * Why a fetch attempt brought no bundle into force. Codes are stable and shown by `palisade
 * status`.
 */
const FAULT_CODES = [
  // the connection to the server
  'unreachable',
  'timeout',
  'stopping',
  // the answer of the server
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
  // the content of the document
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

/** The event of `state/agent-state.ts` for a failed attempt. */
export function eventOfFault(code: FaultCode): { readonly kind: 'away' | 'refused' | 'revoked' } {
  if (code === 'revoked') return { kind: 'revoked' }
  return { kind: AWAY.has(code) ? 'away' : 'refused' }
}

/** A named reason; the bundle in force stays in force. */
export interface Fault {
  readonly kind: 'fault'
  readonly code: FaultCode
  /** Lower-case sentence without a full stop. */
  readonly message: string
  /** How long the server asks the machine to stay away (`Retry-After` of a 429 or 503). */
  readonly retryAfterMs?: number
  /** Status of the answer, for `http_status`. */
  readonly status?: number
  /** The code in the error envelope of the server, for a request that reads refusals. */
  readonly refusal?: string
}

/** A fault for an answer that did not come from the server; `found` names the evidence. */
export function foreignFault(found: string): Fault {
  const message = 'the network answers in place of the server (captive portal?)'
  return fault('foreign_answer', `${message}: ${found}`)
}

/** A fault for an unexpected exception. */
export function internalFault(error: unknown): Fault {
  const reason = error instanceof Error ? error.message : String(error)
  return fault('internal', `the agent failed: ${reason}; report this`)
}

/** A bundle that cannot be written is not put into force, because a restart would lose it. */
export function describeDiskFault(error: unknown): Fault {
  const reason = error instanceof Error ? error.message : String(error)
  return fault('cache_not_written', `the policy cannot be written to disk: ${reason}`)
}

/**
 * Messages quote names from unverified answers. Without this limit each failed attempt could write
 * a message of 8 MiB to the log.
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
