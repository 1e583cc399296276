import type { Socket } from 'node:net'

/**
 * Carries bytes both ways until both sides end, one fails, or the connection is idle for `idleMs`.
 * Half-closed connections go on: a client may end its side and still wait for the answer.
 */
export function relay(client: Socket, upstream: Socket, idleMs: number, onEnd: () => void): void {
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
