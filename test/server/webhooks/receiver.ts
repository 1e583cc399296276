import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { onTestFinished, vi } from 'vitest'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Next answer of the receiver: a status, or no answer. */
export type Reply = number | 'silence'

export interface Receiver {
  readonly url: string
  readonly port: number
  readonly received: readonly Received[]
  /** Used in order; afterwards it answers 204. */
  readonly replies: Reply[]
  /** Resolves after this number of requests. */
  count(requests: number): Promise<void>
}

/** A web server on loopback that accepts deliveries. */
export async function openReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const replies: Reply[] = []
  let awaited: { requests: number; resolve: () => void }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      received.push({ path: request.url ?? '', headers: request.headers, body })
      const reply = replies.shift() ?? 204
      if (reply !== 'silence')
        response.writeHead(reply, reply === 302 ? { location: '/elsewhere' } : {}).end('ignored')
      for (const { requests, resolve } of awaited) if (received.length >= requests) resolve()
      awaited = awaited.filter(({ requests }) => requests > received.length)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    replies,
    count: (requests) =>
      received.length >= requests
        ? Promise.resolve()
        : new Promise((resolve) => awaited.push({ requests, resolve })),
  }
}

/**
 * The event of a request, verified by the Standard Webhooks library at that time; throws otherwise.
 */
export function verify({ headers, body }: Received, secret: string, at: Date): unknown {
  vi.useFakeTimers({ toFake: ['Date'], now: at })
  try {
    return new Webhook(secret).verify(body, headers as Record<string, string>)
  } finally {
    vi.useRealTimers()
  }
}
