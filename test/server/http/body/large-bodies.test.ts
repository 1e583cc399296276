import Fastify from 'fastify'
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { limitLargeBodies } from '../../../../server/src/http/body/large-bodies.ts'
import { openGovernedApp, type GovernedApp } from '../governed-app.ts'

const BODY_BYTES = 2 * 1024 * 1024
let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp()
  await governed.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => governed.close())

type Document = Awaited<ReturnType<typeof beginDocument>>

/** A client that sends all of a document except its last byte, and can be ended. */
async function beginDocument(
  as: string,
  { isTaken = true, org = 'acme', text = ' '.repeat(BODY_BYTES - 1) } = {},
) {
  const token = await governed.tokenFor(as)
  const { port } = governed.app.server.address() as AddressInfo
  const accepted = once(governed.app.server, 'connection') as Promise<[Socket]>
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  let answer = ''
  socket.on('data', (text: string) => {
    answer += text
  })
  socket.on('error', () => undefined)
  socket.write(
    `POST /api/v1/orgs/${org}/apply HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${text.length + 1}\r\n\r\n`,
  )
  socket.write(text)
  const [peer] = await accepted
  const gone = new Promise<void>((resolve) => peer.once('close', () => resolve()))
  const wasRead = () => peer.bytesRead >= text.length || answer !== ''
  await expect.poll(() => !isTaken || wasRead()).toBe(true)
  return {
    answer: () => answer,
    /** Resolves when the server has seen the end of the connection. */
    gone,
    finish: () => void socket.write(' '),
    abandon: () => void socket.destroy(),
  }
}

async function beginFour(): Promise<Document[]> {
  const four: Document[] = []
  while (four.length < 4) four.push(await beginDocument('olga'))
  return four
}

it('keeps four slots for the large bodies of a caller, and refuses the fifth', async () => {
  const four = await beginFour()
  const fifth = await beginDocument('olga', { isTaken: false })
  await expect.poll(fifth.answer).toMatch(/^HTTP\/1\.1 429 /)
  expect(fifth.answer()).toMatch(/\r\nretry-after: 1\r\n/i)

  const others = [await beginDocument('ed'), await beginDocument('rita', { org: 'rival' })]
  for (const other of others) other.finish()
  for (const other of others) await expect.poll(other.answer).toMatch(/^HTTP\/1\.1 400 /)

  expect(four.map((document) => document.answer())).toEqual(['', '', '', ''])
  for (const document of [...four, fifth, ...others]) document.abandon()
})

it.each([
  [
    'been answered',
    async ({ finish, answer }: Document) => {
      finish()
      await expect.poll(answer).toMatch(/^HTTP\/1\.1 400 /)
    },
  ],
  [
    'left',
    async ({ abandon, gone }: Document) => {
      abandon()
      await gone
    },
  ],
])('gives the slot of a client that has %s to the next', async (_title, end) => {
  const four = await beginFour()
  await end(four[0] as Document)

  const next = await beginDocument('olga')
  next.finish()
  await expect.poll(next.answer).toMatch(/^HTTP\/1\.1 400 /)
  for (const document of [...four, next]) document.abandon()
})

it('keeps sixteen slots for an organization, and refuses a fifth caller', async () => {
  const gate = Promise.withResolvers<void>()
  const app = Fastify({ logger: false })
  onTestFinished(() => app.close())
  app.decorateRequest('actor', null)
  app.addHook('onRequest', async (request) => {
    request.actor = String(request.headers['x-actor'])
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  limitLargeBodies(app)
  let begun = 0
  app.post('/:org', { bodyLimit: BODY_BYTES }, async () => {
    begun += 1
    await gate.promise
    return 'served'
  })
  const send = async (actor: string, org = 'acme') => {
    const headers = { 'x-actor': actor, 'content-type': 'text/plain' }
    const payload = Buffer.alloc(BODY_BYTES)
    return (await app.inject({ method: 'POST', url: `/${org}`, headers, payload })).statusCode
  }

  const sixteen = ['a', 'b', 'c', 'd'].flatMap((actor) => [1, 2, 3, 4].map(() => send(actor)))
  await expect.poll(() => begun).toBe(16)
  expect(await send('e')).toBe(429)
  const other = send('a', 'rival')
  await expect.poll(() => begun).toBe(17)
  gate.resolve()

  expect(new Set(await Promise.all([...sixteen, other]))).toEqual(new Set([200]))
  expect(await send('e')).toBe(200)
})
