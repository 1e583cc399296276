import type { Readable, Writable } from 'node:stream'

/** The least number of bytes that a request body must bring in each window. */
export interface BodyRate {
  readonly bytes: number
  readonly windowMs: number
}

/**
 * Calls `onSlow` once when `body` is slower than the least rate, then stops. A window in which
 * `sink` is full does not count, because the origin is slow, not the client.
 */
export function watchBodyRate(
  body: Readable,
  sink: Writable,
  { bytes, windowMs }: BodyRate,
  onSlow: () => void,
): { stop(): void } {
  let received = 0
  const count = (chunk: Buffer): void => {
    received += chunk.byteLength
  }
  const timer = setInterval(() => {
    const isSlow = received < bytes && !sink.writableNeedDrain
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
