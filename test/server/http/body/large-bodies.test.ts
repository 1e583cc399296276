import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { openGovernedApp, type GovernedApp } from '../governed-app.ts'

/** Beyond all that is read of a body before its turn. */
const BODY_BYTES = 6 * 1024 * 1024
const GRACE_MS = 100
let patient: GovernedApp
/** Drops each body that takes longer than `GRACE_MS` while another one waits. */
let impatient: GovernedApp

beforeAll(async () => {
  patient = await openGovernedApp()
  impatient = await openGovernedApp({ bodyPace: { graceMs: GRACE_MS, leastBytesPerSecond: 1e9 } })
  for (const { app } of [patient, impatient]) await app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => Promise.all([patient.close(), impatient.close()]))

/** A client that sends all of a document except its last byte, and can be ended. */
async function beginDocument(
  as: string,
  { isTaken = true, org = 'acme', to = patient, text = ' '.repeat(BODY_BYTES - 1) } = {},
) {
  const token = await to.tokenFor(as)
  const { port } = to.app.server.address() as AddressInfo
  const accepted = once(to.app.server, 'connection') as Promise<[Socket]>
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  let answer = ''
  socket.on('data', (text: string) => {
    answer += text
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('error', () => undefined)
  socket.write(
    `POST /api/v1/orgs/${org}/apply HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${text.length + 1}\r\n\r\n`,
  )
  socket.write(text)
  const [peer] = await accepted
  const wasRead = () => peer.bytesRead >= text.length || answer !== ''
  await expect.poll(() => !isTaken || wasRead()).toBe(true)
  return {
    answer: () => answer,
    bytesRead: () => peer.bytesRead,
    closed,
    finish: () => void socket.write(' '),
    readNothing: () => void socket.pause(),
    abandon: () => void socket.destroy(),
  }
}

it('accepts a large body of another organization besides an incomplete one', async () => {
  const stalled = [await beginDocument('olga'), await beginDocument('ed', { isTaken: false })]

  const other = await beginDocument('rita', { org: 'rival' })
  other.finish()
  await expect.poll(other.answer).toMatch(/^HTTP\/1\.1 400 /)

  expect(stalled.map((document) => document.answer())).toEqual(['', ''])
  for (const document of [...stalled, other]) document.abandon()
})

it('drops a slow body while another one waits', async () => {
  const slow = await beginDocument('olga', { to: impatient, isTaken: false })
  const next = await beginDocument('ed', { to: impatient, isTaken: false })

  await slow.closed
  expect(slow.answer()).toMatch(/^HTTP\/1\.1 503 /)
  expect(slow.answer()).toMatch(/\r\nretry-after: 5\r\n/i)
  next.finish()
  await expect.poll(next.answer).toMatch(/^HTTP\/1\.1 400 /)
  next.abandon()
})

it('waits for a slow body while no other one waits', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const slow = await beginDocument('olga', { to: impatient })

  vi.advanceTimersByTime(3 * GRACE_MS)

  slow.finish()
  await expect.poll(slow.answer).toMatch(/^HTTP\/1\.1 400 /)
  slow.abandon()
})

it('starts the next body while the previous answer is still being read', async () => {
  const slow = await beginDocument('olga', { text: largePlan() })
  slow.readNothing()
  slow.finish()

  const next = await beginDocument('olga')
  next.finish()
  await expect.poll(next.answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(slow.answer()).toBe('')
  for (const document of [slow, next]) document.abandon()
})

it('reads one large body of an organization at a time, and lets the next one wait', async () => {
  const first = await beginDocument('olga')
  const next = await beginDocument('olga', { isTaken: false })
  const other = await beginDocument('rita', { org: 'rival' })
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

it('passes the turn of a client that has left to the next, and refuses the tenth', async () => {
  const first = await beginDocument('olga')
  const others: Awaited<ReturnType<typeof beginDocument>>[] = []
  for (let more = 0; more < 9; more += 1)
    others.push(await beginDocument('olga', { isTaken: false }))
  // Their order at the server is its own affair.
  const refused = () => others.filter(({ answer }) => answer().startsWith('HTTP/1.1 429 '))
  await expect.poll(() => refused().length).toBe(1)
  expect(refused()[0]?.answer()).toMatch(/\r\nretry-after: 1\r\n/i)

  const last = others.findLast(({ answer }) => answer() === '')
  for (const document of [first, ...others]) if (document !== last) document.abandon()
  last?.finish()
  await expect.poll(() => last?.answer()).toMatch(/^HTTP\/1\.1 400 /)
  last?.abandon()
})

/** A document whose plan is as long, and larger than the kernel's buffers. */
function largePlan(): string {
  const rule = (name: number) => ({
    name: `rule ${name}`,
    actions: ['connect:tcp'],
    decision: 'allow',
    resources: Array.from({ length: 40 }, (_, index) => `n${index}.s${name}.example.com:443`),
  })
  const policies = Array.from({ length: 30 }, (_, index) => ({
    name: `planned ${index}`,
    rules: Array.from({ length: 250 }, (_rule, name) => rule(name)),
  }))
  return JSON.stringify({ policies, dry_run: true })
}
