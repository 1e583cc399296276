import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { expect, it, onTestFinished } from 'vitest'
import { collectBody, type RawBody } from '../../../../server/src/http/body/raw-body.ts'

const MAX_BYTES = 1024 * 1024
/** Well below the 300 MiB that separate buffers for each byte would take. */
const MOST_GROWTH_BYTES = 100 * 2 ** 20
const PIECES = 10_000

/** Collects a body whose pieces arrive as separate chunks, and measures the growth of memory. */
async function collect(
  write: (send: (piece: string) => Promise<void>) => Promise<void>,
): Promise<{ body: RawBody; grown: number }> {
  const server = createServer().listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => void client.destroy())
  client.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
  const [incoming] = (await once(server, 'request')) as [IncomingMessage]
  const request = {
    headers: incoming.headers,
    routeOptions: { bodyLimit: MAX_BYTES },
  } as unknown as FastifyRequest
  const before = process.memoryUsage().heapUsed
  const collected = new Promise<RawBody>((resolve, reject) => {
    collectBody(request, incoming, (error, body) =>
      body === undefined ? reject(error ?? new Error('nothing')) : resolve(body),
    )
  })
  await write(async (text) => {
    if (!client.write(text)) await once(client, 'drain')
  })
  client.write('0\r\n\r\n')
  const body = await collected
  return { body, grown: process.memoryUsage().heapUsed - before }
}

it('a body is complete, whatever its chunks', async () => {
  const lengths = [1, 5, 70_000, 2, 200_000, 1, 1]
  const texts = lengths.map((length, index) => String(index).repeat(length))

  const { body } = await collect(async (send) => {
    for (const text of texts) await send(`${text.length.toString(16)}\r\n${text}\r\n`)
  })

  expect(body.tooLarge).toBe(false)
  expect(Buffer.from(body.bytes).toString() === texts.join('')).toBe(true)
})

it('a body in chunks of one byte takes no more memory than another', async () => {
  const block = '1\r\na\r\n'.repeat(PIECES)

  const { body, grown } = await collect(async (send) => {
    for (let sent = 0; sent + PIECES <= MAX_BYTES; sent += PIECES) await send(block)
  })

  expect(body.bytes.byteLength).toBe(Math.floor(MAX_BYTES / PIECES) * PIECES)
  expect(grown).toBeLessThan(MOST_GROWTH_BYTES)
})

it('a body that is too large is not kept', async () => {
  const { body } = await collect(async (send) => {
    for (let sent = 0; sent <= MAX_BYTES; sent += 65_536)
      await send(`10000\r\n${'a'.repeat(65_536)}\r\n`)
  })

  expect([body.tooLarge, body.bytes.byteLength]).toEqual([true, 0])
})
