import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import { pairHeaders, valuesOf } from '../../http/header-list.ts'
import type { Flight } from '../content/flight.ts'
import { answerDenied, formatRawAnswer } from '../denial/answer.ts'

/** A fatal `access_denied` alert (RFC 8446 §6), which programs name in their error. */
const ACCESS_DENIED = Buffer.from([21, 3, 3, 0, 2, 2, 49])

/** Tells a program in the protocol of its first bytes why its tunnel is closed. */
export function formatContentDenial(flight: Flight, decision: MachineDecision): string | Buffer {
  switch (flight.kind) {
    case 'tls':
      return ACCESS_DENIED
    case 'http': {
      const [accept] = valuesOf(pairHeaders(flight.head.rawHeaders), 'accept')
      return formatRawAnswer(answerDenied(decision, [], accept))
    }
    case 'malformed':
      return flight.protocol === 'tls'
        ? ACCESS_DENIED
        : formatRawAnswer(answerDenied(decision, [], undefined))
    case 'http2':
    case 'proxied':
    case 'incomplete':
    case 'opaque':
      return ''
  }
}
