import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { awaitDrained, awaitFlushed } from './await-flushed.ts'

/** The caller of a route that answers with a stream of lines. */
export interface StreamReader {
  /** Aborts when the caller ends its side or its connection. */
  readonly signal: AbortSignal
  disconnect(): void
}

/**
 * Answers with NDJSON, line by line as they come. A caller that does not take a line within
 * `flushTimeoutMs` is disconnected.
 */
export async function streamAnswer(
  response: ServerResponse,
  client: Socket,
  lines: (reader: StreamReader) => AsyncIterable<string>,
  flushTimeoutMs: number,
): Promise<void> {
  const gone = new AbortController()
  const leave = (): void => gone.abort()
  client.once('end', leave).once('close', leave)
  // The end of a caller that sent it with its request is past.
  if (client.readableEnded || client.destroyed) leave()
  try {
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' })
    response.flushHeaders()
    const reader = { signal: gone.signal, disconnect: () => void response.destroy() }
    for await (const line of lines(reader)) {
      if (!response.write(line)) await awaitDrained(response, flushTimeoutMs)
      if (response.destroyed || client.destroyed) return
    }
    response.end()
    await awaitFlushed(response, flushTimeoutMs)
  } finally {
    client.off('end', leave).off('close', leave)
  }
}
