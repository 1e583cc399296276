import { readBoundedBody } from '../bounded-body.ts'
import { ClientError, unexpected } from '../client-error.ts'
import { parseFailure } from '../parse-answer.ts'
import { splitLines } from '../split-lines.ts'
import { describeNetworkError } from './describe-network-error.ts'
import type { Fetch, FetchAnswer } from './fetch.ts'

/** Settings for HTTP exchanges with the server. */
export interface Wire {
  /** From `parseServerUrl`. */
  readonly server: string
  readonly fetch: Fetch
  /** Milliseconds from sending to the last byte of the answer. */
  readonly timeoutMs: number
  readonly maxAnswerBytes: number
}

export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Begins with `/`, already encoded. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON when present. */
  readonly body?: unknown
  /** A larger limit for an answer that may be longer than others. */
  readonly maxAnswerBytes?: number
  /** A longer limit for an answer that takes longer than others, in milliseconds. */
  readonly timeoutMs?: number
  /** For an answer of lines: called with each but the last, which becomes the text. */
  readonly onLine?: (line: string) => void
}

/**
 * Sends one request and returns the text of a 2xx answer. All other outcomes throw a `ClientError`.
 * Redirects are refused, so that a token never reaches another host.
 */
export async function exchange(wire: Wire, request: WireRequest): Promise<string> {
  const timeoutMs = request.timeoutMs ?? wire.timeoutMs
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const response = await wire.fetch(wire.server + request.path, {
      method: request.method,
      redirect: 'manual',
      signal,
      headers: {
        accept: 'application/json',
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...request.headers,
      },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    })
    return await readAnswer(response, request.maxAnswerBytes ?? wire.maxAnswerBytes, request.onLine)
  } catch (error) {
    if (error instanceof ClientError) throw error
    if (signal.aborted)
      throw new ClientError(
        'ERR_SERVER_TIMEOUT',
        `no answer from ${wire.server} within ${timeoutMs / 1000} s`,
        { cause: error },
      )
    throw new ClientError(
      'ERR_SERVER_UNREACHABLE',
      `cannot reach the server at ${wire.server}: ${describeNetworkError(error, wire.server)}`,
      { cause: error },
    )
  }
}

async function readAnswer(
  response: FetchAnswer,
  maxBytes: number,
  onLine: WireRequest['onLine'],
): Promise<string> {
  if (response.status >= 300 && response.status < 400) {
    await response.body?.cancel()
    throw unexpected(`status ${response.status}; redirects are refused, give the final address`)
  }
  const isSuccess = response.status >= 200 && response.status < 300
  if (isSuccess && onLine !== undefined) return readLines(response, maxBytes, onLine)
  const text = await readText(response, maxBytes)
  if (isSuccess) return text
  throw parseFailure(response.status, text, parseRetryAfter(response.headers.get('retry-after')))
}

async function readText({ body }: FetchAnswer, maxBytes: number): Promise<string> {
  const bytes = await readBoundedBody(body, maxBytes)
  if (bytes === null) throw unexpected(`it is longer than ${maxBytes} bytes`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw unexpected('it is not UTF-8 text')
  }
}

/** Reads lines as they come, and returns the last one. `maxBytes` is the limit of each. */
async function readLines(
  { body }: FetchAnswer,
  maxBytes: number,
  onLine: (line: string) => void,
): Promise<string> {
  let last: string | null = null
  for await (const lines of splitLines(toBuffers(body ?? []), maxBytes))
    for (const line of lines) {
      if (line === null) throw unexpected(`a line is longer than ${maxBytes} bytes`)
      if (last !== null) onLine(last)
      last = line.toString()
    }
  if (last === null) throw unexpected('it has no line')
  return last
}

async function* toBuffers(
  body: AsyncIterable<Uint8Array> | readonly Uint8Array[],
): AsyncGenerator<Buffer> {
  for await (const chunk of body) yield Buffer.from(chunk)
}

/** Only delta-seconds: the date form would trust the other side's clock. */
function parseRetryAfter(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : null
}
