import type { ErrorCode, ErrorEnvelope } from '@palisade/protocol'

/** Error response of the local API or the proxy. */
export interface Refusal {
  readonly status: number
  readonly code: ErrorCode
  /** Lower-case sentence without a full stop. */
  readonly message: string
  /** More specific than `code`, such as `host_mismatch`. */
  readonly reason?: string
}

export function formatEnvelope({ code, message, reason }: Refusal): string {
  const envelope: ErrorEnvelope = {
    error: { code, message, ...(reason === undefined ? {} : { reason }) },
  }
  return `${JSON.stringify(envelope)}\n`
}
