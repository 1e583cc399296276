import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openGovernedApp, type GovernedApp } from './governed-app.ts'

const BODY_BYTES = 15 * 1024 * 1024
const APPLY = '/api/v1/orgs/acme/apply'
let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp()
  await governed.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => governed.close())

/** A client that sends a document but for its last byte, and can be ended. */
async function beginDocument() {
  const token = await governed.tokenFor('olga')
  const { port } = governed.app.server.address() as AddressInfo
  const accepted = once(governed.app.server, 'connection') as Promise<[Socket]>
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  let answer = ''
  socket.on('data', (text: string) => {
    answer += text
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('error', () => undefined)
  socket.write(
    `POST ${APPLY} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`,
  )
  socket.write(' '.repeat(BODY_BYTES - 1))
  const [peer] = await accepted
  await expect.poll(() => peer.bytesRead >= BODY_BYTES || answer !== '').toBe(true)
  return {
    answer: () => answer,
    closed,
    finish: () => void socket.write(' '),
    abandon: () => void socket.destroy(),
  }
}

it('takes two of the largest bodies at once, refuses a third, and has room once one ends', async () => {
  const first = await beginDocument()
  const second = await beginDocument()

  const third = await beginDocument()
  await third.closed
  expect(third.answer()).toMatch(/^HTTP\/1\.1 503 /)
  expect(third.answer()).toMatch(/\r\nretry-after: 5\r\n/i)
  expect([first.answer(), second.answer()]).toEqual(['', ''])

  first.abandon()
  second.finish()
  await expect.poll(second.answer).toMatch(/^HTTP\/1\.1 400 /)
  second.abandon()

  const later = [await beginDocument(), await beginDocument()]
  for (const document of later) document.finish()
  for (const document of later) await expect.poll(document.answer).toMatch(/^HTTP\/1\.1 400 /)
  for (const document of later) document.abandon()
})
