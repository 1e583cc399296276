import type { Writable } from 'node:stream'

/**
 * How long a client may take to read an answer of the agent itself; most of one fits into the
 * buffers of the kernel.
 */
export const FLUSH_TIMEOUT_MS = 10_000

/**
 * Resolves when the kernel has taken all of an ended answer, or when its connection is closed.
 * Until then the bytes are in this process, so the slot is not free. Closes the connection after
 * `flushTimeoutMs`.
 */
export async function awaitFlushed(answer: Writable, flushTimeoutMs: number): Promise<void> {
  // `finished` of `node:stream` also resolves for a response that has ended but is not flushed.
  if (answer.writableFinished || answer.destroyed) return
  await awaitEvent(answer, 'finish', flushTimeoutMs)
}

/**
 * Resolves when an answer that is not ended takes more bytes, or when its connection is closed.
 * Closes the connection after `drainTimeoutMs`.
 */
export async function awaitDrained(answer: Writable, drainTimeoutMs: number): Promise<void> {
  if (!answer.writableNeedDrain || answer.destroyed) return
  await awaitEvent(answer, 'drain', drainTimeoutMs)
}

async function awaitEvent(answer: Writable, event: string, timeoutMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  // A response that has lost its connection emits neither `finish` nor `close`.
  const timer = setTimeout(() => {
    answer.destroy()
    resolve()
  }, timeoutMs).unref()
  answer.once(event, resolve).once('close', resolve)
  await promise
  clearTimeout(timer)
  answer.off(event, resolve).off('close', resolve)
}
