import { describe, expect, it } from 'vitest'
import { bundleOf } from '../fixture/bundle.ts'
import {
  exchangeRaw,
  get,
  openRaw,
  readAll,
  readUntil,
  startProxy,
  startTcpServer,
} from '../fixture/proxy.ts'

const LOCAL = bundleOf(['allow', 'connect:tcp', '127.0.0.1'])
const CHUNKS = 20_000
const TINY_CHUNKS = '1\r\na\r\n'.repeat(CHUNKS)
const LAST_CHUNK = '0\r\n\r\n'

/** Reads the sizes and the bytes of a chunked body. */
function readChunked(text: string): { sizes: number[]; body: string } {
  const sizes: number[] = []
  let body = ''
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\r\n', at)
    const size = Number.parseInt(text.slice(at, end), 16)
    if (!(size > 0)) break
    sizes.push(size)
    body += text.slice(end + 2, end + 2 + size)
    at = end + 2 + size + 2
  }
  return { sizes, body }
}

describe('interim answers of an origin', () => {
  const answering = (interim: number): Promise<number> =>
    startTcpServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'.repeat(interim))
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    })

  it('are accepted up to sixteen', async () => {
    const { port } = await startProxy(LOCAL)

    const answer = await exchangeRaw(port, get(`127.0.0.1:${await answering(16)}`))

    expect(answer).toMatchObject({ status: 200, body: 'ok' })
  })

  it('end the exchange with 502 beyond sixteen, and free the slot', async () => {
    const { port, live, errors } = await startProxy(LOCAL)

    const answer = await exchangeRaw(port, get(`127.0.0.1:${await answering(17)}`))

    expect(answer.status).toBe(502)
    await expect.poll(() => live.size()).toBe(0)
    expect(errors).toEqual([])
  })
})

describe('a body in one-byte chunks', () => {
  it('from an origin arrives complete, in fewer chunks', async () => {
    const origin = await startTcpServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
        socket.end(`${TINY_CHUNKS}${LAST_CHUNK}`)
      })
    })
    const { port } = await startProxy(LOCAL)

    const answer = await exchangeRaw(port, get(`127.0.0.1:${origin}`))
    const { sizes, body } = readChunked(answer.body)

    expect(body === 'a'.repeat(CHUNKS)).toBe(true)
    expect(sizes.length).toBeLessThan(CHUNKS / 20)
  })

  it('from a client arrives complete, in fewer chunks, and the connection stays open', async () => {
    let received = ''
    const origin = await startTcpServer((socket) => {
      socket.setEncoding('utf8')
      socket.on('data', (text: string) => {
        received += text
        if (!received.endsWith(LAST_CHUNK)) return
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone')
      })
    })
    const { port, live } = await startProxy(LOCAL)
    const authority = `127.0.0.1:${origin}`
    const head = `POST http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n`
    const post = `${head}Transfer-Encoding: chunked\r\n\r\n`
    const client = await openRaw(port, `${post}${TINY_CHUNKS}${LAST_CHUNK}`)

    await readUntil(client, 'done')
    const first = readChunked(received.slice(received.indexOf('\r\n\r\n') + 4))
    received = ''
    client.write(`${head}Connection: close\r\nContent-Length: 5\r\n\r\n${LAST_CHUNK}`)

    expect(await readAll(client)).toContain('done')
    expect(first.body === 'a'.repeat(CHUNKS)).toBe(true)
    expect(first.sizes.length).toBeLessThan(CHUNKS / 20)
    expect(live.size()).toBe(0)
  })

  it('from a client whose origin closes is answered 502', async () => {
    const origin = await startTcpServer((socket) => {
      socket.once('data', () => socket.destroy())
    })
    const { port, live, errors } = await startProxy(LOCAL)
    const authority = `127.0.0.1:${origin}`
    const head = `POST http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n`

    const answer = await exchangeRaw(
      port,
      `${head}Transfer-Encoding: chunked\r\n\r\n${TINY_CHUNKS}`,
    )

    expect(answer.status).toBe(502)
    await expect.poll(() => live.size()).toBe(0)
    expect(errors).toEqual([])
  })
})
