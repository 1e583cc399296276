import type { Socket } from 'node:net'
import { hangUp } from '../../http/hang-up.ts'
import type { FlowEnd } from '../../enforcement/enforcement-event.ts'

export interface Relay {
  /** Closes both sides. The first cause counts. */
  close(cause: FlowEnd['cause']): void
  /** Closes the side of the target; the program may still get a last message. */
  abandon(cause: FlowEnd['cause']): void
  /** Carries the bytes of the program too, beginning with `held`. */
  passOn(held: Buffer): void
}

/**
 * Carries the bytes of the target to the program at once, and those of the program after `passOn`.
 * Ends when both sides have ended, one fails, or neither moves for `idleMs`. Half-closed
 * connections go on: a program may end its side and still wait for the answer. Calls `onEnd` once.
 */
export function startRelay(
  client: Socket,
  upstream: Socket,
  idleMs: number,
  onEnd: (flow: FlowEnd) => void,
): Relay {
  const startedMs = performance.now()
  const before = { sent: upstream.bytesWritten, received: upstream.bytesRead }
  let open = 2
  let cause: FlowEnd['cause'] = 'closed'
  let isAbandoned = false

  const close = (why: FlowEnd['cause']): void => {
    if (cause === 'closed') cause = why
    client.destroy()
    upstream.destroy()
  }
  const finish = (): void =>
    onEnd({
      bytesSent: upstream.bytesWritten - before.sent,
      bytesReceived: upstream.bytesRead - before.received,
      durationMs: Math.round(performance.now() - startedMs),
      cause,
    })

  for (const side of [client, upstream]) {
    side.setTimeout(idleMs, () => close('idle'))
    side.once('close', () => {
      open -= 1
      if (open === 0) finish()
    })
  }
  // A failed client needs nothing more; one that ended in order may still have sent bytes.
  client.once('error', () => close('closed'))
  client.once('close', () => {
    if (!client.readableEnded || client.errored !== null) close('closed')
  })
  // The last bytes of a target that failed may still be on their way to a client that sends.
  upstream.once('close', () => {
    const isInOrder = upstream.readableEnded && upstream.errored === null
    if (!isAbandoned && !(isInOrder && client.readableEnded)) hangUp(client, '')
  })
  upstream.pipe(client)

  return {
    close,
    abandon(why) {
      isAbandoned = true
      cause = why
      upstream.unpipe(client)
      upstream.destroy()
    },
    passOn(held) {
      if (held.length > 0) upstream.write(held)
      client.pipe(upstream)
    },
  }
}
