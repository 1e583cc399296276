import type { ClientBytes } from '../client-bytes.ts'
import { MAX_HEAD_BYTES } from '../../http/header-list.ts'
import { findHeadFault, parseHttpHead } from '../content/http-head.ts'
import { answerRefusal, formatRawAnswer } from '../denial/answer.ts'
import type { FindNearMisses } from '../denial/near-misses.ts'
import { hangUp } from '../../http/hang-up.ts'
import type { TunnelRequest } from '../tunnel/open-tunnel.ts'
import { createConnectRequest } from './connect-request.ts'

const END_OF_HEAD = '\r\n\r\n'

/**
 * Reads a CONNECT request (RFC 9110 §9.3.6). Returns null for a refused one, which is answered
 * here. `node:http` could read it too, but more leniently, and at a higher cost for each tunnel.
 */
export async function readConnect(
  deps: { readonly nearMisses: FindNearMisses },
  bytes: ClientBytes,
): Promise<TunnelRequest | null> {
  const received = await bytes.takeUntil(END_OF_HEAD, MAX_HEAD_BYTES)
  const client = bytes.release()
  const refuse = (status: number, message: string): null => {
    const code = 'invalid_argument'
    const answer = answerRefusal({ status, code, reason: 'malformed_request', message })
    hangUp(client, formatRawAnswer(answer))
    return null
  }
  if (received === 'too_late') return refuse(408, 'the head of the request is incomplete')
  if (received === 'too_long') return refuse(431, 'the head of the request is longer than 64 KiB')
  const text = received.toString('latin1')
  const head = parseHttpHead(text)
  return head === null
    ? refuse(400, `the request is not valid HTTP/1.1: ${findHeadFault(text)}`)
    : createConnectRequest(deps, client, {
        method: head.method,
        url: head.target,
        rawHeaders: head.rawHeaders,
        httpVersion: `1.${head.minorVersion}`,
      })
}
