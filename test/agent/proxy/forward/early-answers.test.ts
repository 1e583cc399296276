import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { bundleOf, type RuleLine } from '../../fixture/bundle.ts'
import {
  connectTo,
  openRaw,
  parseRaw,
  readAll,
  readUntil,
  startProxy,
  startTcpServer,
} from '../../fixture/proxy.ts'

const local: RuleLine = ['allow', 'connect:tcp', '127.0.0.1']
const MIB = 1_048_576

/** Answers as soon as the head has arrived, and closes with the body unread. */
function startHastyOrigin(answer: string): Promise<number> {
  return startTcpServer((socket) =>
    socket.once('data', () => {
      socket.pause()
      socket.end(answer, () => socket.destroy())
    }),
  )
}

/** Sends a long body, as far as it is taken, and returns the answer. */
async function upload(socket: Socket): Promise<string> {
  // The proxy discards the rest of the body for a moment only.
  socket.on('error', () => {})
  const answered = readAll(socket)
  const body = Buffer.alloc(MIB, 'x')
  for (let sent = 0; sent < 20 && socket.writable; sent += 1)
    if (!socket.write(body)) await Promise.race([once(socket, 'drain').catch(() => {}), answered])
  return answered
}

const put = (target: string, authority: string, extra = ''): string =>
  `PUT ${target} HTTP/1.1\r\nHost: ${authority}\r\nContent-Length: ${20 * MIB}\r\n${extra}\r\n`

describe('an answer that comes before the request ends', () => {
  it.each([401, 413, 417])('with status %d is the one that the program gets', async (status) => {
    const origin = await startHastyOrigin(
      `HTTP/1.1 ${status} No\r\nConnection: close\r\nContent-Length: 5\r\n\r\nagain`,
    )
    const { port, live, errors } = await startProxy(bundleOf(local))
    const authority = `127.0.0.1:${origin}`

    for (let round = 0; round < 5; round += 1) {
      const answer = await upload(await openRaw(port, put(`http://${authority}/`, authority)))
      expect(parseRaw(answer)).toMatchObject({ status, body: 'again' })
    }

    expect(errors).toEqual([])
    await expect.poll(() => live.size()).toBe(0)
  })

  it('has its status also where its body has no length', async () => {
    const origin = await startHastyOrigin('HTTP/1.1 401 No\r\nConnection: close\r\n\r\n')
    const { port } = await startProxy(bundleOf(local))
    const authority = `127.0.0.1:${origin}`

    for (let round = 0; round < 5; round += 1) {
      const answer = await upload(await openRaw(port, put(`http://${authority}/`, authority)))
      expect(parseRaw(answer).status).toBe(401)
    }
  })

  it('arrives in a tunnel too', async () => {
    const origin = await startHastyOrigin('HTTP/1.1 401 No\r\nContent-Length: 5\r\n\r\nagain')
    const { port, live } = await startProxy(bundleOf(local))
    const authority = `127.0.0.1:${origin}`

    for (let round = 0; round < 5; round += 1) {
      const socket = await openRaw(port, connectTo(authority))
      await readUntil(socket, '\r\n\r\n')
      socket.write(put('/', authority))
      expect(parseRaw(await upload(socket))).toMatchObject({ status: 401, body: 'again' })
    }

    await expect.poll(() => live.size()).toBe(0)
  })

  it('may need the head alone', async () => {
    const origin = await startHastyOrigin('HTTP/1.1 401 No\r\nContent-Length: 5\r\n\r\nagain')
    const { port } = await startProxy(bundleOf(local))
    const authority = `127.0.0.1:${origin}`

    const answer = await readAll(await openRaw(port, put(`http://${authority}/`, authority)))

    expect(parseRaw(answer)).toMatchObject({ status: 401, body: 'again' })
  })

  it('is a denial that the program can read while it sends', async () => {
    const { port } = await startProxy(bundleOf(['deny', 'connect:tcp', '127.0.0.1']))

    for (let round = 0; round < 5; round += 1) {
      const answer = await upload(await openRaw(port, put('http://127.0.0.1:1/', '127.0.0.1:1')))
      expect(parseRaw(answer).status).toBe(403)
    }
  })
})

describe('an expectation', () => {
  it('is left to the origin, whose final answer spares the body', async () => {
    let received = ''
    const origin = await startTcpServer((socket) =>
      socket.on('data', (bytes) => {
        received += bytes.toString('latin1')
        if (received.endsWith('\r\n\r\n'))
          socket.end('HTTP/1.1 417 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
      }),
    )
    const { port } = await startProxy(bundleOf(local))
    const authority = `127.0.0.1:${origin}`
    const head = put(`http://${authority}/`, authority, 'Expect: 100-continue\r\n')

    const answer = await readAll(await openRaw(port, head))

    expect(parseRaw(answer).status).toBe(417)
    expect(answer).not.toContain('100 Continue')
    expect(received).toContain('Expect: 100-continue')
  })

  it('is met by the interim answer of the origin and by no other', async () => {
    const heard = Promise.withResolvers<Socket>()
    const origin = await startTcpServer((socket) => {
      socket.once('data', () => heard.resolve(socket))
    })
    const { port } = await startProxy(bundleOf(local))
    const authority = `127.0.0.1:${origin}`
    const head =
      `PUT http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n` +
      'Expect: 100-continue\r\nContent-Length: 2\r\n\r\n'
    const socket = await openRaw(port, head)
    let received = ''
    socket.on('data', (text: string) => (received += text))
    const upstream = await heard.promise

    expect(received).toBe('')
    upstream.write('HTTP/1.1 100 Continue\r\n\r\n')
    await expect.poll(() => received).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    socket.write('ok')
    const [body] = await once(upstream, 'data')
    upstream.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine')

    await expect.poll(() => received).toContain('\r\n\r\nfine')
    expect(String(body)).toBe('ok')
  })

  it.each([
    ['of HTTP/1.0 is not forwarded', 'HTTP/1.0', '100-continue', false],
    ['that the proxy does not know is forwarded', 'HTTP/1.1', '200-ok', true],
  ])('%s', async (_what, version, expectation, isForwarded) => {
    let received = ''
    const origin = await startTcpServer((socket) =>
      socket.once('data', (bytes) => {
        received = bytes.toString('latin1')
        socket.end('HTTP/1.1 204 No Content\r\n\r\n')
      }),
    )
    const { port } = await startProxy(bundleOf(local))
    const authority = `127.0.0.1:${origin}`
    const head =
      `POST http://${authority}/ ${version}\r\nHost: ${authority}\r\n` +
      `Expect: ${expectation}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`

    expect(parseRaw(await readAll(await openRaw(port, head))).status).toBe(204)
    expect(received.includes(`Expect: ${expectation}`)).toBe(isForwarded)
  })
})

describe('an interim answer', () => {
  it.each([
    ['reaches a program of HTTP/1.1', 'HTTP/1.1', true],
    ['does not reach one of HTTP/1.0', 'HTTP/1.0', false],
  ])('%s', async (_what, version, arrives) => {
    const hint =
      'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n'
    const origin = await startTcpServer((socket) =>
      socket.once('data', () => socket.end(`${hint}HTTP/1.1 204 No Content\r\n\r\n`)),
    )
    const { port } = await startProxy(bundleOf(local))
    const authority = `127.0.0.1:${origin}`

    const answer = await readAll(
      await openRaw(
        port,
        `GET http://${authority}/ ${version}\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`,
      ),
    )

    expect(answer.startsWith('HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n')).toBe(arrives)
    expect(answer).toContain('HTTP/1.1 204 No Content')
    expect(answer).not.toContain('X-Hop')
  })
})
