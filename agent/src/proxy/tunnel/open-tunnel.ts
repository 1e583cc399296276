import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { clientEnd } from '../../programs/client-end.ts'
import { formatRawAnswer, type Answer } from '../denial/answer.ts'
import { awaitFlushed } from '../../http/await-flushed.ts'
import { explainBadHead, explainOpening, explainTooMany } from '../denial/explain-opening.ts'
import type { PassDeps } from '../forward/forward-request.ts'
import { openConnection } from '../target/open-connection.ts'
import { readConnectTarget } from '../forward/request-head.ts'

/** How long a refused client may take to read the reason. */
const LINGER_MS = 2_000

/**
 * Answers a CONNECT request with a tunnel to a decided address, or with a refusal. Bytes after the
 * request are still unread in `client`.
 */
export async function openTunnel(
  deps: PassDeps,
  request: IncomingMessage,
  client: Socket,
): Promise<void> {
  client.on('error', () => client.destroy())
  const { method = '', url = '', rawHeaders } = request
  const connect = readConnectTarget({ method, url, rawHeaders })
  if (!connect.ok) return hangUp(client, explainBadHead(connect))
  const slot = await deps.admission.enter(client)
  if (slot === null) return hangUp(client, explainTooMany())
  const gone = new AbortController()
  client.once('close', () => gone.abort())
  try {
    const opening = await openConnection(deps, connect.target, slot, gone.signal)
    if (opening.kind === 'open' || opening.kind === 'refused') {
      const { decision } = opening
      deps.onEvent({ point: 'proxy', protocol: 'connect', decision, client: clientEnd(client) })
    }
    if (opening.kind !== 'open') {
      hangUp(client, explainOpening(deps, opening, connect.target, request.headers))
      await awaitFlushed(client, deps.flushTimeoutMs)
      return slot.leave()
    }
    const { socket: upstream, address } = opening
    const close = (): void => {
      client.destroy()
      upstream.destroy()
    }
    slot.guard({ action: 'connect:tcp', ...connect.target, address }, close)
    // A policy change, or the client, may have closed one of them while the other was awaited.
    if (upstream.destroyed || client.destroyed) {
      slot.leave()
      return close()
    }
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    // Bytes that the client sent early come first in the tunnel.
    relay(client, upstream, deps.idleMs, () => slot.leave())
  } catch (error) {
    slot.leave()
    client.destroy()
    throw error
  }
}

/** Reads on while closing: unread bytes would cause a reset, which discards the answer. */
export function hangUp(client: Socket, answer: Answer): void {
  if (client.destroyed) return
  client.on('error', () => client.destroy())
  client.end(formatRawAnswer(answer))
  client.resume()
  setTimeout(() => client.destroy(), LINGER_MS).unref()
}

/**
 * Carries bytes both ways until both sides end, one fails, or the connection is idle for `idleMs`.
 * Half-closed connections go on: a client may end its side and still wait for the answer.
 */
function relay(client: Socket, upstream: Socket, idleMs: number, onEnd: () => void): void {
  let open = 2
  const close = (): void => {
    client.destroy()
    upstream.destroy()
  }
  for (const side of [client, upstream]) {
    side.setTimeout(idleMs, close)
    side.once('error', close)
    side.once('close', () => {
      // The other side may still have bytes to deliver only if this one ended in order.
      if (!side.readableEnded || side.errored !== null) close()
      open -= 1
      if (open === 0) onEnd()
    })
  }
  client.pipe(upstream)
  upstream.pipe(client)
}
