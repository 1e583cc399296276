import type { Socket } from 'node:net'

/** Reads the first bytes of a program, before its dialect is known or while it negotiates. */
export interface ClientBytes {
  /**
   * Waits for `length` bytes, and leaves them unread. Returns fewer when the program ends its side
   * or the time is over.
   */
  peek(length: number): Promise<Buffer>
  /** Waits for `length` bytes. Returns null when they do not arrive in time. */
  take(length: number): Promise<Buffer | null>
  /**
   * Waits for `end` and returns all bytes up to it. Returns `too_long` beyond `maxBytes`, and
   * `too_late` when it does not arrive in time.
   */
  takeUntil(end: string, maxBytes: number): Promise<Buffer | 'too_long' | 'too_late'>
  /** Answers within the negotiation. */
  write(bytes: Buffer): void
  /** Stops reading. The socket is paused, and all bytes that were not taken are unread. */
  release(): Socket
}

const EMPTY: Buffer = Buffer.alloc(0)

/**
 * `timeoutMs` is the time for all bytes together. Reads only while more bytes are wanted, because
 * bytes cannot be pushed back after the end of the stream, which may come with them.
 */
export function readClientBytes(client: Socket, timeoutMs: number): ClientBytes {
  let received = EMPTY
  let isOver = false
  let wake: (() => void) | null = null

  const notify = (): void => {
    wake?.()
    wake = null
  }
  const onData = (chunk: Buffer): void => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    client.pause()
    notify()
  }
  const onOver = (): void => {
    isOver = true
    notify()
  }
  const timer = setTimeout(onOver, timeoutMs)
  client.on('data', onData).once('end', onOver).once('close', onOver).pause()

  /** Resolves with true when more bytes have arrived. */
  const more = async (): Promise<boolean> => {
    if (isOver) return false
    const before = received.length
    await new Promise<void>((resolve) => {
      wake = resolve
      client.resume()
    })
    return received.length > before
  }
  const cut = (length: number): Buffer => {
    const taken = received.subarray(0, length)
    received = received.subarray(length)
    return taken
  }

  return {
    async peek(length) {
      while (received.length < length) if (!(await more())) break
      return received
    },
    async take(length) {
      while (received.length < length) if (!(await more())) return null
      return cut(length)
    },
    async takeUntil(end, maxBytes) {
      let from = 0
      for (;;) {
        const found = received.indexOf(end, from, 'latin1')
        if (found >= 0 && found + end.length <= maxBytes) return cut(found + end.length)
        if (received.length >= maxBytes) return 'too_long'
        from = Math.max(received.length - end.length + 1, 0)
        if (!(await more())) return 'too_late'
      }
    },
    write(bytes) {
      if (client.writable) client.write(bytes)
    },
    release() {
      clearTimeout(timer)
      client.off('data', onData).off('end', onOver).off('close', onOver)
      client.pause()
      if (received.length > 0 && !client.readableEnded) client.unshift(received)
      return client
    },
  }
}
