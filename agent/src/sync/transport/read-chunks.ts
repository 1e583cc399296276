import type { IncomingMessage } from 'node:http'

/**
 * A body may have this many chunks, and a further one for each `LEAST_BYTES_A_CHUNK` received.
 * Every chunk costs processor time: 8 MiB in one-byte chunks would delay decisions for seconds. A
 * server writes thousands of bytes at once.
 */
const FREE_CHUNKS = 1_024
const LEAST_BYTES_A_CHUNK = 256

/** Whether this many chunks with this many bytes in all are made to keep the machine busy. */
export function isFragmented(chunks: number, bytes: number): boolean {
  return chunks > FREE_CHUNKS + bytes / LEAST_BYTES_A_CHUNK
}

/** The answer is made to keep this machine busy. */
export class TooManyChunksError extends Error {
  override readonly name = 'TooManyChunksError'

  constructor() {
    super('the answer comes in too many pieces')
  }
}

/**
 * Iterates over the chunks of an answer as they arrive. Chunks that the caller has not taken stay
 * in memory, so the caller must take each at once. Leaving a loop early ends the connection, unless
 * the answer is complete. After the signal has aborted, its reason is thrown, however the answer
 * ended.
 *
 * The iterator of `node:stream` joins small chunks, so they cannot be counted. The one of
 * `node:events` delivers them once hundreds are held, which delays decisions.
 */
export function readChunks(
  response: IncomingMessage,
  signal: AbortSignal,
): AsyncIterator<Uint8Array> {
  const held: Uint8Array[] = []
  let waiting: PromiseWithResolvers<IteratorResult<Uint8Array>> | null = null
  let ending: { readonly error: unknown } | 'complete' | null = null
  let chunks = 0
  let received = 0

  function take(chunk: Uint8Array): void {
    if (ending !== null) return
    chunks += 1
    received += chunk.byteLength
    if (isFragmented(chunks, received)) {
      response.off('data', take)
      held.length = 0
      end({ error: new TooManyChunksError() })
      response.destroy()
      return
    }
    if (waiting === null) {
      held.push(chunk)
      return
    }
    waiting.resolve({ done: false, value: chunk })
    waiting = null
  }

  function end(how: NonNullable<typeof ending>): void {
    // Destroying a request drops its buffered data, and its answer may then end as if it were
    // complete.
    ending ??= signal.aborted ? { error: signal.reason } : how
    if (waiting === null) return
    if (ending === 'complete') waiting.resolve({ done: true, value: undefined })
    else waiting.reject(ending.error)
    waiting = null
  }

  const onClose = (): void => {
    if (ending === null) end({ error: new Error('the connection was closed') })
  }
  response.on('data', take)
  response.once('end', () => end('complete'))
  response.on('error', (error) => end({ error }))
  response.once('close', onClose)
  // No later event would end a wait.
  if (response.closed) onClose()

  return {
    async next() {
      const chunk = held.shift()
      if (chunk !== undefined) return { done: false, value: chunk }
      if (ending === 'complete') return { done: true, value: undefined }
      if (ending !== null) throw ending.error
      waiting = Promise.withResolvers()
      return waiting.promise
    },
    async return() {
      response.destroy()
      return { done: true, value: undefined }
    },
  }
}
