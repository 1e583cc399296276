import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enrolTestDevice } from '../test-device.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { openViewDevice } from './view-device.ts'

/** Headers that Node sets for each connection and time. */
const OF_THE_CONNECTION = ['connection', 'date', 'keep-alive', 'x-request-id']

describe('a poll answered before Fastify', () => {
  const undo: (() => void | Promise<void>)[] = []
  let test: TestServer
  let owner: string
  let path: string
  let token: string
  let device: string
  let port: number

  beforeAll(async () => {
    test = await openTestServer((step) => undo.push(step))
    const { personal_token } = await test.createOrganization('acme', 'alice')
    owner = await test.signIn('alice', personal_token)
    const machine = await enrolTestDevice(test, owner, 'acme')
    token = machine.token
    device = machine.enrolment.device_id
    const { view } = await openViewDevice(test, machine)
    path = `/api/v1/orgs/acme/views/${view}/metadata/timestamp.json`
    await test.server.app.listen({ host: '127.0.0.1', port: 0 })
    port = Number(new URL(test.server.origin()).port)
  })
  afterAll(async () => {
    for (const step of undo.toReversed()) await step()
  })

  /** `inject` runs only Fastify, without a listener before it. */
  const throughFramework = (headers: Record<string, string>, url = path) =>
    test.server.app.inject({ method: 'GET', url, headers: { host: 'a', ...headers } })
  const authorized = () => ({ authorization: `DPoP ${token}` })

  async function overSocket(headers: Record<string, string>, url = path): Promise<Answer> {
    const socket = connect(port, '127.0.0.1')
    const lines = Object.entries({ host: 'a', connection: 'close', ...headers })
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    const received: Buffer[] = []
    socket.on('data', (chunk: Buffer) => received.push(chunk))
    socket.write(`GET ${url} HTTP/1.1\r\n${head}\r\n`)
    await once(socket, 'close')
    return parseAnswer(Buffer.concat(received).toString())
  }

  async function expectSame(headers: Record<string, string>, url = path): Promise<number> {
    // The first one fills the caches.
    const [, socket, framework] = [
      await throughFramework(authorized()),
      await overSocket(headers, url),
      await throughFramework(headers, url),
    ]
    expect(socket.status).toBe(framework.statusCode)
    expect(without(socket.headers)).toEqual(without(framework.headers))
    expect(withoutId(socket.body)).toBe(withoutId(framework.body))
    return socket.status
  }

  it('gets the identical answer, with a body and without', async () => {
    const etag = String((await throughFramework(authorized())).headers['etag'])

    expect(await expectSame(authorized())).toBe(200)
    expect(await expectSame({ ...authorized(), 'if-none-match': etag })).toBe(304)
    expect(await expectSame({ ...authorized(), 'if-none-match': `"x", W/${etag}` })).toBe(304)
    expect(await expectSame({ ...authorized(), 'if-none-match': '"x"' })).toBe(200)
    expect(await expectSame({ ...authorized(), 'if-none-match': '*' })).toBe(304)
    expect(await expectSame({ authorization: `dPOP  ${token}` })).toBe(200)
  })

  it('gets the identical refusal', async () => {
    const other = path.replace('/acme/', '/other/')

    expect(await expectSame({})).toBe(401)
    expect(await expectSame({ authorization: `DPoP ${token}x` })).toBe(401)
    expect(await expectSame({ authorization: `Basic ${token}` })).toBe(401)
    expect(await expectSame({ ...authorized(), 'if-none-match': 'x' })).toBe(400)
    expect(await expectSame(authorized(), other)).toBe(404)
    expect(await expectSame(authorized(), path.replace(/views\/[^/]+/, 'views/0'))).toBe(404)
    expect(await expectSame(authorized(), path.replace('acme', '%61cme'))).toBe(200)
  })

  it('keeps the request id of a client, and creates one otherwise', async () => {
    const sent = await overSocket({ ...authorized(), 'x-request-id': 'mine' })
    const made = [await overSocket(authorized()), await overSocket(authorized())]
    const ids = new Set(made.map(({ headers }) => headers['x-request-id']))

    expect(sent.headers['x-request-id']).toBe('mine')
    expect(ids.size).toBe(2)
    for (const id of ids) expect(id).toMatch(/^req_[0-9a-f]{24}$/)
  })

  it('is counted as a poll', async () => {
    const before = await unchanged()
    const etag = String((await overSocket(authorized())).headers['etag'])

    await overSocket({ ...authorized(), 'if-none-match': etag })

    expect((await unchanged()) - before).toBe(1)
  })

  it('shows a change after its commit, and is refused once the device is revoked', async () => {
    const etag = String((await overSocket(authorized())).headers['etag'])
    const policies = '/v2/orgs/acme/governance/policies'
    await test.send('POST', policies, { as: owner, payload: { name: 'new' } })

    expect((await overSocket({ ...authorized(), 'if-none-match': etag })).status).toBe(200)

    await test.send('DELETE', `/api/v1/orgs/acme/devices/${device}`, { as: owner })
    expect((await overSocket(authorized())).status).toBe(401)
  })

  async function unchanged(): Promise<number> {
    const { body } = await test.send('GET', '/metrics')
    return Number(/^palisade_polls_total\{outcome="unchanged"\} (\d+)$/m.exec(body)?.[1])
  }
})

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

function parseAnswer(text: string): Answer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(': ')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)]
    }),
  )
  return { status: Number(first.split(' ')[1]), headers, body: rest.join('\r\n\r\n') }
}

/** The request id, which an error contains as well. */
function withoutId(body: string): string {
  return body.replaceAll(/req_[0-9a-f]{24}/g, '')
}

function without(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const entries = Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.includes(name))
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
}
