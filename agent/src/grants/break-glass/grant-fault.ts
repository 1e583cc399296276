/** Why a grant was not begun or not ended. Codes are stable and shown by `palisade break-glass`. */
export type GrantFaultCode =
  // the grant file
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

/** A named reason. A grant that was not begun changes no enforcement. */
export interface GrantFault {
  readonly kind: 'fault'
  readonly code: GrantFaultCode
  /** Lower-case sentence without a full stop. */
  readonly message: string
}

export function grantFault(code: GrantFaultCode, message: string): GrantFault {
  return { kind: 'fault', code, message }
}
