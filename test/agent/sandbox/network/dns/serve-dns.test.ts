import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  serveDatagrams,
  serveStreams,
  type Answer,
} from '../../../../../agent/src/sandbox/network/dns/serve-dns.ts'

/** Answers with the same bytes and an exclamation mark, but nothing to `silence`. */
const echo: Answer = (packet) =>
  packet.toString() === 'silence' ? null : Buffer.concat([packet, Buffer.from('!')])

async function startStreams(): Promise<{ open: () => Promise<Socket>; end: () => void }> {
  const server = createServer()
  const end = serveStreams(server, echo, () => null)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(end)
  const { port } = server.address() as AddressInfo
  return {
    end,
    async open() {
      const socket = connect(port, '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      socket.on('error', () => {})
      await once(socket, 'connect')
      return socket
    },
  }
}

function framed(...texts: readonly string[]): Buffer {
  return Buffer.concat(
    texts.flatMap((text) => [
      Buffer.from([text.length >> 8, text.length & 255]),
      Buffer.from(text),
    ]),
  )
}

/** Also resolves after a reset. */
function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()))
}

function collect(socket: Socket): () => string {
  let received = ''
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')))
  return () => received
}

describe('queries over TCP', () => {
  it('are answered in order, however they are split', async () => {
    const socket = await (await startStreams()).open()
    const received = collect(socket)
    const bytes = framed('one', 'two', 'x'.repeat(512))

    for (const byte of bytes) {
      socket.write(Buffer.from([byte]))
      await new Promise(setImmediate)
    }
    socket.write(framed('three', 'four'))

    const expected = framed('one!', 'two!', `${'x'.repeat(512)}!`, 'three!', 'four!')
    await expect.poll(received).toBe(expected.toString('latin1'))
  })

  it.each([
    ['longer than a query', Buffer.from([2, 1])],
    ['of 64 KB', Buffer.concat([Buffer.from([255, 255]), Buffer.alloc(65_535)])],
    ['that gets no answer', framed('silence')],
  ])('end with a message %s', async (_, bytes) => {
    const socket = await (await startStreams()).open()
    socket.write(bytes)

    socket.resume()
    await closing(socket)
  })

  it('end with the server', async () => {
    const { open, end } = await startStreams()
    const socket = await open()
    socket.resume()
    socket.write(framed('one'))
    await once(socket, 'data')

    end()

    await closing(socket)
  })

  it('of a program that reads no replies end', async () => {
    const socket = await (await startStreams()).open()
    const many = framed(...Array.from({ length: 2_000 }, () => 'x'.repeat(500)))
    socket.pause()
    const closed = closing(socket)
    const write = (): void => {
      if (!socket.destroyed && socket.writable) socket.write(many, write)
    }
    for (let turn = 0; turn < 40; turn += 1) write()

    await closed
  })
})

describe('queries over UDP', () => {
  it('are answered to their sender, unless there is no answer', async () => {
    const socket = createSocket('udp4')
    const seen: unknown[] = []
    serveDatagrams(
      socket,
      (packet, program) => {
        seen.push(program)
        return echo(packet, program)
      },
      77,
    )
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const client = createSocket('udp4')
    onTestFinished(() => {
      client.close()
      socket.close()
    })
    for (const text of ['silence', 'one']) client.send(text, socket.address().port, '127.0.0.1')

    const [message] = await once(client, 'message')

    expect(String(message)).toBe('one!')
    const end = { address: '127.0.0.1', port: client.address().port, within: { pid: 77 } }
    expect(seen).toEqual([end, end])
  })
})
