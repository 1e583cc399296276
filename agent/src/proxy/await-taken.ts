import type { Writable } from 'node:stream'

/**
 * How long a client may take to read an answer of the agent itself, most of which the kernel takes
 * at once.
 */
export const TAKE_MS = 10_000

/**
 * Resolves when the kernel has taken all of an answer that was ended, or its connection is closed:
 * until then its bytes are in this process, so its place is not free. After `takeMs` the connection
 * is closed.
 */
export async function awaitTaken(answer: Writable, takeMs: number): Promise<void> {
  // Not `finished` of `node:stream`, which takes a response that was ended for one that is
  // finished.
  if (answer.writableFinished || answer.destroyed) return
  const { promise, resolve } = Promise.withResolvers<void>()
  // A response that has no connection any more would neither finish nor close.
  const timer = setTimeout(() => {
    answer.destroy()
    resolve()
  }, takeMs).unref()
  answer.once('finish', resolve).once('close', resolve)
  await promise
  clearTimeout(timer)
}
