import type { Readable, Writable } from 'node:stream'

/** The least that a request body has to bring in each window. */
export interface BodyRate {
  readonly bytes: number
  readonly windowMs: number
}

/**
 * Calls `onSlow` once when `body` brings less than the least rate, and stops after that. A window
 * in which `sink` does not take more does not count: then the origin is slow, not the client.
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
