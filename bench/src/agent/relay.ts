import { once } from 'node:events'
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { UPDATE_PATH } from '../../../packages/protocol/src/index.ts'

export type RelayMode = 'not at all' | 'as it is' | 'in chunks of one byte'

/** A proxy between an agent and its server, with the abilities of an attacker on the network. */
export interface Relay {
  readonly url: string
  /** Sets how later requests are answered. */
  answer(mode: RelayMode): void
  /** Number of updates answered in chunks of one byte. */
  chunkedAnswers(): number
  stop(): Promise<void>
}

export async function startRelay(port: number): Promise<Relay> {
  let mode: RelayMode = 'not at all'
  let chunked = 0
  // Built once, because building it for each request would use the processor that the agent shares.
  let inBytes: Buffer | null = null

  async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isInBytes = mode === 'in chunks of one byte' && request.url?.startsWith(UPDATE_PATH)
    if (isInBytes !== true) {
      const answer = await pass(port, request)
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(response)
      return
    }
    inBytes ??= formatInBytes(await buffer(await pass(port, request)))
    chunked += 1
    request.socket.end(inBytes)
  }

  const server = createServer((request, response) => {
    if (mode === 'not at all') return void request.socket.destroy()
    relay(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: (next) => (mode = next),
    chunkedAnswers: () => chunked,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function pass(port: number, request: IncomingMessage): Promise<IncomingMessage> {
  const { method, url: path, rawHeaders } = request
  const passed = send({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: rawHeaders,
    setHost: false,
  })
  request.pipe(passed)
  const [answer] = (await once(passed, 'response')) as [IncomingMessage]
  return answer
}

/** Formats the chunks by hand, because each write to a response would become its own packet. */
function formatInBytes(body: Buffer): Buffer {
  const chunks = Buffer.alloc(body.byteLength * 6, '1\r\n?\r\n', 'latin1')
  for (const [at, byte] of body.entries()) chunks[at * 6 + 3] = byte
  const head =
    'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
  return Buffer.concat([Buffer.from(head), chunks, Buffer.from('0\r\n\r\n')])
}
