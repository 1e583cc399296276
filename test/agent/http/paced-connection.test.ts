import { once } from 'node:events'
import { createServer, type ServerOptions } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createLoopTurns } from '../../../agent/src/http/loop-turns.ts'
import { connectionOf, paceConnections } from '../../../agent/src/http/paced-connection.ts'
import { readAll } from '../fixture/proxy.ts'

/** A server that answers each request with its method, its target and the field `X`. */
async function openTo(options: ServerOptions = {}): Promise<Socket> {
  const server = createServer(options, (request, response) => {
    connectionOf(request).begin(request, response)
    const line = `${request.method} ${request.url} ${request.headersDistinct['x']?.join() ?? ''}\n`
    response.end(Buffer.from(line, 'latin1'))
  })
  server.on('clientError', ({ code }: NodeJS.ErrnoException, client) => client.end(`${code}`))
  Object.assign(server, { httpAllowHalfOpen: true })
  const serve = paceConnections(server, createLoopTurns(), { mends: true })
  server.on('connection', serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  onTestFinished(() => {
    client.destroy()
    server.close()
  })
  return client.setEncoding('latin1')
}

const linesOf = (answers: string): readonly string[] => answers.match(/^[A-Z]+ \/.*$/gm) ?? []
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50))

describe('a request whose line the parser of Node refuses', () => {
  it('arrives as it was written', async () => {
    const client = await openTo()

    client.end('BREW /\xe9 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n', 'latin1')

    expect(linesOf(await readAll(client))).toEqual(['BREW /\xe9 ', 'GET / '])
  })

  it('is not seen in a field of a head that comes in parts', async () => {
    const client = await openTo()

    for (const part of ['GET / HTTP/1.1\r\nHost: a\r\nX: ', 'POST /\xe9 HTTP/1.1\r\n', '\r\n']) {
      client.write(part, 'latin1')
      await pause()
    }
    client.end()

    expect(linesOf(await readAll(client))).toEqual(['GET / POST /\xe9 HTTP/1.1'])
  })
})

describe('a head that is not complete in time', () => {
  it.each([
    ['first', '', 'GET / HTTP/1.1\r\nHost: a\r\n'],
    ['later', 'BREW /\xe9 HTTP/1.1\r\nHost: a\r\n\r\n', 'GET / HTTP/1.1\r\nHost: a\r\n'],
    ['later, with a part of its line', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', 'GET /'],
  ])('is told so as the %s one of a connection', async (_title, before, part) => {
    const client = await openTo({ headersTimeout: 500, connectionsCheckingInterval: 100 })
    const now = performance.now.bind(performance)
    let passedMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now() + passedMs)
    onTestFinished(() => void vi.restoreAllMocks())

    client.write(`${before}${part}`, 'latin1')
    await pause()
    passedMs = 10_000
    client.write('X')

    expect(await readAll(client)).toMatch(/ERR_HTTP_REQUEST_TIMEOUT$/)
  })
})
