/** Why a grant was not begun, or not ended; stable, seen at `palisade break-glass`. */
export type GrantFaultCode =
  // what the file is
  | 'too_large'
  | 'malformed'
  | 'unsupported_grant'
  | 'bad_signature'
  | 'wrong_organization'
  | 'wrong_device'
  | 'issued_in_future'
  | 'expired'
  | 'lives_too_long'
  | 'already_used'
  // this machine
  | 'not_possible'
  | 'nothing_to_lift'
  | 'already_in_force'
  | 'none_in_force'
  | 'not_kept'

/** A named reason; what was enforced before is enforced still. */
export interface GrantFault {
  readonly kind: 'fault'
  readonly code: GrantFaultCode
  /** Lower-case sentence without a full stop. */
  readonly message: string
}

export function grantFault(code: GrantFaultCode, message: string): GrantFault {
  return { kind: 'fault', code, message }
}
