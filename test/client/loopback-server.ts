import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON. */
  readonly body?: unknown
  /** Cuts the connection instead of answering. */
  readonly hangUp?: true
  /** Delays the answer. */
  readonly delayMs?: number
  /** Never answers. */
  readonly silent?: true
}

export interface LoopbackServer extends AsyncDisposable {
  /** Origin of the server, or the path of its socket. */
  readonly url: string
  readonly seen: readonly SeenRequest[]
}

/** Starts an HTTP server that answers with `reply`, on a free port or on a Unix socket. */
export async function startLoopbackServer(
  reply: (request: SeenRequest, count: number) => Reply,
  socketPath?: string,
): Promise<LoopbackServer> {
  const seen: SeenRequest[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      const one = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        body,
      }
      seen.push(one)
      const answer = reply(one, seen.length)
      if (answer.silent === true) return
      if (answer.hangUp === true) {
        request.socket.destroy()
        return
      }
      const send = (): void => {
        response.writeHead(answer.status ?? 200, {
          'content-type': 'application/json',
          ...answer.headers,
        })
        const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body)
        response.end(answer.body === undefined ? '' : text)
      }
      setTimeout(send, answer.delayMs ?? 0)
    })
  })
  await new Promise<void>((resolve) => {
    if (socketPath === undefined) server.listen(0, '127.0.0.1', resolve)
    else server.listen(socketPath, resolve)
  })
  const port = socketPath === undefined ? (server.address() as AddressInfo).port : 0
  return {
    url: socketPath ?? `http://127.0.0.1:${port}`,
    seen,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The error envelope. */
export function envelope(status: number, code: string, message = 'refused'): Reply {
  return { status, body: { error: { code, message, request_id: 'req-1' } } }
}

/** A token answer with another token for each exchange. */
export function tokenReply(count: number, expiresInSeconds = 900): Reply {
  const token = `jwt-${count}`
  return {
    body: {
      access_token: token,
      token_type: 'Bearer',
      expires_in: expiresInSeconds,
      token,
    },
  }
}
