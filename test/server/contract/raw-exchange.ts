import { once } from 'node:events'
import { connect } from 'node:net'

/** One answer as received. */
export interface RawAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** A pseudo piece: waits for bytes of the server before the next piece. */
export const UNTIL_ANSWERED: unique symbol = Symbol('until answered')

export interface ExchangeOptions {
  /** Longest silence of the server, in milliseconds. */
  readonly withinMs?: number
  /** The request is HEAD: the answer has no body, whatever its `Content-Length`. */
  readonly isHead?: boolean
  /** Silence, in milliseconds, after which the client ends its side of the connection. */
  readonly endAfterMs?: number
  /** Answers after which the client ends its side at once. */
  readonly endAfterAnswers?: number
}

/**
 * Sends the pieces in order over a new connection and resolves to all answers until the server
 * closes it. Rejects when the connection stays open for `withinMs` without a byte.
 */
export async function exchangeRaw(
  port: number,
  pieces: readonly (string | Uint8Array | typeof UNTIL_ANSWERED)[],
  { withinMs = 60_000, isHead = false, endAfterMs = 10_000, endAfterAnswers }: ExchangeOptions = {},
): Promise<RawAnswer[]> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.setTimeout(withinMs, () =>
    socket.destroy(new Error('the server neither answers nor ends')),
  )
  const received: Buffer[] = []
  const text = (): string => Buffer.concat(received).toString('latin1')
  socket.on('data', (chunk) => {
    received.push(chunk)
    if (endAfterAnswers === undefined) return
    if (text().split('HTTP/1.1 ').length > endAfterAnswers) socket.end()
  })
  const closed = new Promise<void>((resolve, reject) => {
    socket.on('end', () => socket.end())
    socket.on('close', () => resolve())
    // A server that stops reading may reset the connection.
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' || error.code === 'EPIPE' ? resolve() : reject(error),
    )
  })
  await once(socket, 'connect')
  for (const piece of pieces)
    if (piece === UNTIL_ANSWERED) await once(socket, 'data')
    else if (socket.writable) socket.write(piece)
  const timer = setTimeout(() => socket.end(), endAfterMs)
  await closed
  clearTimeout(timer)
  return parseAnswers(text(), isHead)
}

/** Splits the bytes of a server into answers. */
export function parseAnswers(text: string, isHead: boolean): RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = text
  while (rest !== '') {
    const [head = '', ...others] = rest.split('\r\n\r\n')
    const [line = '', ...lines] = head.split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1])
    if (Number.isNaN(status)) throw new Error(`not an HTTP answer: ${rest.slice(0, 80)}`)
    const headers = new Map(
      lines.map((entry) => {
        const colon = entry.indexOf(':')
        return [entry.slice(0, colon).toLowerCase(), entry.slice(colon + 1).trim()] as const
      }),
    )
    const after = others.join('\r\n\r\n')
    // Bytes that are not a request are refused with a body, even if they start with `HEAD`.
    const hasNoBody = isHead && /^(?:HTTP\/1\.1 |$)/.test(after)
    const isChunked = headers.get('transfer-encoding') === 'chunked'
    const length = Number(headers.get('content-length') ?? 0)
    const [body, next] = hasNoBody
      ? ['', after]
      : isChunked
        ? readChunks(after)
        : [after.slice(0, length), after.slice(length)]
    answers.push({ status, headers, body })
    rest = next
  }
  return answers
}

/** Returns the body, and the bytes after its last chunk (RFC 9112, section 7.1). */
function readChunks(text: string): [body: string, rest: string] {
  let body = ''
  let rest = text
  for (;;) {
    const end = rest.indexOf('\r\n')
    const size = Number.parseInt(rest.slice(0, end), 16)
    if (end < 0 || Number.isNaN(size)) throw new Error(`not a chunk: ${rest.slice(0, 80)}`)
    body += rest.slice(end + 2, end + 2 + size)
    rest = rest.slice(end + 2 + size + 2)
    if (size === 0) return [body, rest]
  }
}
