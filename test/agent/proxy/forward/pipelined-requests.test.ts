import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundleOf } from '../../fixture/bundle.ts'
import { readAll, startProxy, startTcpServer } from '../../fixture/proxy.ts'

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

interface Scene {
  readonly client: Socket
  /** Authorities of two origins. */
  readonly first: string
  readonly second: string
  /** The first lines that both received. */
  readonly lines: string[]
}

async function setUp(): Promise<Scene> {
  const lines: string[] = []
  const startOrigin = async (name: string): Promise<string> => {
    const port = await startTcpServer((socket) =>
      socket.once('data', (bytes: Buffer) => {
        lines.push(`${name} ${bytes.toString('latin1').split('\r\n')[0]}`)
        socket.end(ANSWER)
      }),
    )
    return `127.0.0.1:${port}`
  }
  const [first, second] = [await startOrigin('first'), await startOrigin('second')]
  const { port } = await startProxy(bundleOf(['allow', 'connect:tcp', '127.0.0.1']))
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  client.setEncoding('latin1')
  onTestFinished(() => void client.destroy())
  return { client, first, second, lines }
}

const raw = (authority: string): string =>
  `GET http://${authority}/\xe9 HTTP/1.1\r\nHost: x\r\n\r\n`
const post = (authority: string, path = '/private'): string =>
  `POST http://${authority}${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nsecret`

describe('a request after one with raw bytes in its target', () => {
  it.each([
    ['at once', ''],
    ['after an empty line', '\r\n'],
  ])('goes to its own host although the client ends its side, %s', async (_title, between) => {
    const { client, first, second, lines } = await setUp()

    client.end(`${raw(first)}${between}${post(second)}`, 'latin1')
    await readAll(client)

    expect(lines).toEqual(['first GET /\xe9 HTTP/1.1', 'second POST /private HTTP/1.1'])
  })

  it('keeps its own raw bytes although the client ends its side', async () => {
    const { client, first, second, lines } = await setUp()

    client.end(`${raw(first)}${post(second, '/\xe8')}`, 'latin1')
    await readAll(client)

    expect(lines).toEqual(['first GET /\xe9 HTTP/1.1', 'second POST /\xe8 HTTP/1.1'])
  })
})
