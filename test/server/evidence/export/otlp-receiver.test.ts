import { createServer, type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  createOtlpReceiver,
  readRetryAfter,
} from '../../../../server/src/evidence/export/otlp-receiver.ts'
import type { Receiver } from '../../../../server/src/evidence/export/receiver.ts'
import { auditEvent } from './audit-events.ts'

const NOW = new Date('2026-11-26T12:00:00Z')

/** A receiver whose collector answers each call with these bytes. */
async function receiverOf(answer: string): Promise<Receiver> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(answer))
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/logs`
  const receiver = createOtlpReceiver(
    { url, headers: {}, ca: null },
    { version: '1', now: () => NOW },
  )
  onTestFinished(() => {
    receiver.close()
    server.close()
  })
  return receiver
}

describe('the answer of a collector', () => {
  it.each([
    ['a change of protocol', '101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x'],
    ['a redirect', '307 Elsewhere\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0'],
    ['a cut body', '200 OK\r\nContent-Length: 9'],
    ['a long body', `200 OK\r\n\r\n${'x'.repeat(65_537)}`],
  ])('takes no record with %s', async (_name, answer) => {
    const receiver = await receiverOf(`HTTP/1.1 ${answer}\r\n\r\n`)
    expect(await receiver.send([auditEvent()])).toMatchObject({ kind: 'failed' })
  })
})

describe('`Retry-After`', () => {
  it.each([
    ['60', 60_000],
    ['999999999', 900_000],
    ['Thu, 26 Nov 2026 12:01:00 GMT', 60_000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 900_000],
    ['soon', null],
  ])('of `%s` is a wait within bounds', (header, waitMs) => {
    expect(readRetryAfter(header, NOW)).toBe(waitMs)
  })
})
