import type { Socket } from 'node:net'
import { pairHeaders, valuesOf } from '../../http/header-list.ts'
import { formatRawAnswer, type Answer } from '../denial/answer.ts'
import { explainBadHead, explainOpening, explainTooMany } from '../denial/explain-opening.ts'
import type { FindNearMisses } from '../denial/near-misses.ts'
import { readConnectTarget, type RequestHead } from '../forward/request-head.ts'
import { hangUp } from '../../http/hang-up.ts'
import type { TunnelRequest } from '../tunnel/open-tunnel.ts'

const GRANTED = 'HTTP/1.1 200 Connection Established\r\n\r\n'

/** The tunnel that a CONNECT request asks for. Returns null for a bad head, after an answer. */
export function createConnectRequest(
  deps: { readonly nearMisses: FindNearMisses },
  client: Socket,
  head: RequestHead,
): TunnelRequest | null {
  const answer = (made: Answer): void => hangUp(client, formatRawAnswer(made))
  const connect = readConnectTarget(head)
  if (!connect.ok) {
    answer(explainBadHead(connect))
    return null
  }
  const { target } = connect
  return {
    point: 'proxy',
    protocol: 'connect',
    client,
    target,
    grant: () => client.write(GRANTED),
    refuse(refusal) {
      const [accept] = valuesOf(pairHeaders(head.rawHeaders), 'accept')
      answer(
        refusal.kind === 'too_many'
          ? explainTooMany()
          : explainOpening(deps, refusal, target, { accept }),
      )
    },
  }
}
