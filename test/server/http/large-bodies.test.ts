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
async function beginDocument(as: string, { isTaken = true } = {}) {
  const token = await governed.tokenFor(as)
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
  const wasRead = () => peer.bytesRead >= BODY_BYTES || answer !== ''
  await expect.poll(() => !isTaken || wasRead()).toBe(true)
  return {
    answer: () => answer,
    bytesRead: () => peer.bytesRead,
    closed,
    finish: () => void socket.write(' '),
    abandon: () => void socket.destroy(),
  }
}

it('takes two of the largest bodies at once, refuses a third, and has room once one ends', async () => {
  const first = await beginDocument('olga')
  const second = await beginDocument('ed')

  const third = await beginDocument('audrey')
  await third.closed
  expect(third.answer()).toMatch(/^HTTP\/1\.1 503 /)
  expect(third.answer()).toMatch(/\r\nretry-after: 5\r\n/i)
  expect([first.answer(), second.answer()]).toEqual(['', ''])

  first.abandon()
  second.finish()
  await expect.poll(second.answer).toMatch(/^HTTP\/1\.1 400 /)
  second.abandon()

  const later = [await beginDocument('olga'), await beginDocument('ed')]
  for (const document of later) document.finish()
  for (const document of later) await expect.poll(document.answer).toMatch(/^HTTP\/1\.1 400 /)
  for (const document of later) document.abandon()
})

it('takes one large body of a caller at a time and leaves the next with its sender', async () => {
  const first = await beginDocument('olga')
  const next = await beginDocument('olga', { isTaken: false })
  const other = await beginDocument('ed')
  other.finish()
  await expect.poll(other.answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(next.answer()).toBe('')
  expect(next.bytesRead()).toBeLessThan(1024 * 1024)

  first.finish()
  await expect.poll(first.answer).toMatch(/^HTTP\/1\.1 400 /)
  next.finish()
  await expect.poll(next.answer).toMatch(/^HTTP\/1\.1 400 /)
  for (const document of [first, next, other]) document.abandon()
})

it('gives the place of a client that has left to the next, and refuses the tenth', async () => {
  const first = await beginDocument('olga')
  const waiting = [await beginDocument('olga', { isTaken: false })]
  for (let more = 0; more < 7; more += 1)
    waiting.push(await beginDocument('olga', { isTaken: false }))
  const tenth = await beginDocument('olga', { isTaken: false })
  await expect.poll(tenth.answer).toMatch(/^HTTP\/1\.1 429 /)
  expect(tenth.answer()).toMatch(/\r\nretry-after: 1\r\n/i)

  const last = waiting.pop()
  for (const document of [first, ...waiting, tenth]) document.abandon()
  last?.finish()
  await expect.poll(() => last?.answer()).toMatch(/^HTTP\/1\.1 400 /)
  last?.abandon()
})
