import { fc } from '@fast-check/vitest'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLoopTurns } from '../../../agent/src/http/loop-turns.ts'
import { connectionOf, paceConnections } from '../../../agent/src/http/paced-connection.ts'

interface Sent {
  readonly wire: string
  readonly body: string
}

/** Full of byte sequences that end a head. */
const body = fc
  .array(fc.constantFrom('\r\n', '\r\n\r\n', '\r', '\n', 'x', 'GET / HTTP/1.1\r\n\r\n'), {
    maxLength: 12,
  })
  .map((parts) => parts.join(''))

const bodyless = fc
  .constantFrom('', 'X: 1\r\n', `X: ${'x'.repeat(5_000)}\r\n`)
  .map((field): Sent => ({
    wire: `GET / HTTP/1.1\r\nHost: a\r\n${field}\r\n`,
    body: '',
  }))
const measured = body.map((bytes): Sent => ({
  wire: `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes.length}\r\n\r\n${bytes}`,
  body: bytes,
}))
const chunked = fc
  .tuple(fc.array(body, { maxLength: 4 }), fc.constantFrom('', 'X: 1\r\n'))
  .map(([bodies, trailer]): Sent => {
    const chunks = bodies.filter((bytes) => bytes !== '')
    const wire = chunks.map((bytes) => `${bytes.length.toString(16)}\r\n${bytes}\r\n`).join('')
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
    return { wire: `${head}${wire}0\r\n${trailer}\r\n`, body: chunks.join('') }
  })
const requests = fc.array(fc.oneof(bodyless, measured, chunked), { minLength: 1, maxLength: 12 })
const lengths = fc.infiniteStream(fc.integer({ min: 1, max: 300 }))

describe('requests of a paced connection', () => {
  it('arrive complete and in order, one at a time, however they are cut', async () => {
    let seen: string[] = []
    let underWay = 0
    let most = 0
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      seen.push(await text(request))
      await new Promise((resolve) => setImmediate(resolve))
      response.end('ok')
    }
    const server = createServer((request, response) => {
      connectionOf(request).begin(request, response)
      most = Math.max(most, (underWay += 1))
      response.once('close', () => (underWay -= 1))
      void answer(request, response)
    })
    server.on('connection', paceConnections(server, createLoopTurns()))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    const { port } = server.address() as AddressInfo

    await fc.assert(
      fc.asyncProperty(requests, lengths, async (sent, cuts) => {
        seen = []
        const client = connect({ port, host: '127.0.0.1', noDelay: true })
        let answers = 0
        client.setEncoding('latin1').on('data', (bytes: string) => {
          answers += bytes.split('HTTP/1.1 200').length - 1
          if (answers === sent.length) client.destroy()
        })
        let wire = sent.map((each) => each.wire).join('')
        for (const length of cuts) {
          if (wire === '') break
          client.write(wire.slice(0, length))
          wire = wire.slice(length)
          // Otherwise the server reads several pieces at once.
          await new Promise((resolve) => setImmediate(resolve))
        }
        await once(client, 'close')

        expect(seen).toEqual(sent.map((each) => each.body))
        expect(most).toBe(1)
      }),
      { numRuns: 60 },
    )
  })
})
