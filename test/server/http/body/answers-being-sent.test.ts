import Fastify, { type FastifyInstance } from 'fastify'
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  createAnswersBeingSent,
  type AnswersBeingSent,
} from '../../../../server/src/http/body/answers-being-sent.ts'

/** More than the buffers between a server and a client that does not read. */
const BODY_BYTES = 32 * 2 ** 20
const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

let app: FastifyInstance
let beingSent: AnswersBeingSent
let body: Buffer
let sent: () => void
const clients: Socket[] = []

beforeEach(async () => {
  await open({ heldBytes: 2 * BODY_BYTES, withinMs: 60_000 })
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  await app.close()
})

async function open(limits: { heldBytes: number; withinMs: number }): Promise<void> {
  beingSent = createAnswersBeingSent(limits)
  body = Buffer.alloc(BODY_BYTES)
  sent = () => undefined
  app = Fastify()
  app.get('/', async (_request, reply) => {
    beingSent.requireRoom('acme')
    reply.raw.once('close', () => sent())
    return beingSent.send(reply, 'acme', { status: 200, headers: {}, body })
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
}

/** Sends a request and reads the status of its answer, but not the rest. */
async function ask(text = GET): Promise<{ client: Socket; status: number }> {
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  clients.push(client)
  client.write(text)
  await once(client, 'readable')
  return { client, status: Number(String(client.read(12)).slice(9)) }
}

const isRefused = (org = 'acme'): boolean => {
  try {
    beingSent.requireRoom(org)
    return false
  } catch {
    return true
  }
}

it('counts bytes once for all readers, and refuses further answers beyond the bound', async () => {
  await Promise.all([ask(), ask(), ask(), ask()])
  expect(isRefused()).toBe(false)
  body = Buffer.alloc(BODY_BYTES)
  await ask()

  expect((await ask()).status).toBe(429)
  expect(isRefused('rival')).toBe(false)
})

it('releases an answer when it is read or its client leaves', async () => {
  const { client: taker } = await ask()
  body = Buffer.alloc(BODY_BYTES)
  const { client: leaver } = await ask()
  expect(isRefused()).toBe(true)

  const isTaken = new Promise<void>((resolve) => (sent = resolve))
  taker.resume()
  await isTaken
  expect(isRefused()).toBe(false)

  body = Buffer.alloc(BODY_BYTES)
  await ask()
  expect(isRefused()).toBe(true)
  leaver.destroy()
  await expect.poll(() => isRefused()).toBe(false)
})

it('releases a queued answer when its connection closes', async () => {
  const { client } = await ask(GET.repeat(3))
  body = Buffer.alloc(BODY_BYTES)
  await ask(GET.repeat(2))
  expect(isRefused()).toBe(true)

  client.destroy()

  await expect.poll(() => isRefused()).toBe(false)
})

it('closes the connection of a client that takes too long', async () => {
  await app.close()
  await open({ heldBytes: BODY_BYTES, withinMs: 50 })
  const { client } = await ask()

  client.resume()
  client.pause()
  const closed = once(client, 'close')
  await expect.poll(() => isRefused()).toBe(false)
  client.on('error', () => undefined).resume()
  await closed
})
