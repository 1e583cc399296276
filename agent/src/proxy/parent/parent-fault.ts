/**
 * - `unreachable`: no connection to the parent, or one that ended early.
 * - `tls_failed`: the certificate of an `https:` parent is not trusted, or TLS failed otherwise.
 * - `slow`: no complete answer in time.
 * - `bad_answer`: the answer is not a valid HTTP head, or too long.
 * - `refused`: the parent answered with another status than 2xx.
 * - `loop`: the parent is this agent's own proxy.
 */
export type ParentFaultCode =
  'unreachable' | 'tls_failed' | 'slow' | 'bad_answer' | 'refused' | 'loop'

/**
 * The reason why the parent proxy opened no connection. The message is for people. It holds neither
 * credentials nor text of the parent, which could repeat them.
 */
export class ParentFault extends Error {
  override readonly name = 'ParentFault'
  readonly code: ParentFaultCode
  /** Whether another address of the same target may succeed. */
  readonly isOfTarget: boolean

  constructor(code: ParentFaultCode, message: string, isOfTarget = false) {
    super(message)
    this.code = code
    this.isOfTarget = isOfTarget
  }
}

/** The fault for an answer with `status`, which is not 2xx. */
export function refusedBy(status: number): ParentFault {
  const hint =
    status === 407
      ? ' (authentication required); check the file of PALISADE_PARENT_PROXY_CREDENTIALS'
      : ''
  // Wrong credentials are not repeated for each address, because that may lock the account. Other
  // answers may be about the address: some parents refuse every IPv6 address with 403.
  const isOfTarget = status !== 407
  return new ParentFault('refused', `the parent proxy answered ${status}${hint}`, isOfTarget)
}
