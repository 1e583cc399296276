import type { Readable, Writable } from 'node:stream'

/** The least number of bytes that a request body must bring in each window. */
export interface BodyRate {
  readonly bytes: number
  readonly windowMs: number
}

/**
 * Calls `onSlow` once when `body` is slower than the least rate, then stops. A window in which
 * `sink` is full does not count, because the origin is slow, not the client. Nor do the windows
 * before the first byte where the client `waits` for the origin to ask for it.
 */
export function watchBodyRate(
  body: Readable,
  sink: Writable,
  { bytes, windowMs, waits = false }: BodyRate & { readonly waits?: boolean },
  onSlow: () => void,
): { stop(): void } {
  let received = 0
  let isWaiting = waits
  const count = (chunk: Buffer): void => {
    received += chunk.byteLength
    isWaiting = false
  }
  const timer = setInterval(() => {
    const isSlow = received < bytes && !isWaiting && !sink.writableNeedDrain
    received = 0
    if (!isSlow) return
    stop()
    onSlow()
  }, windowMs).unref()
  const stop = (): void => {
    clearInterval(timer)
    body.off('data', count)
  }
  body.on('data', count)
  body.once('close', stop)
  body.once('end', stop)
  return { stop }
}
