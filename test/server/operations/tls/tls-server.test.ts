import { readConfig, createServer, openSqliteStore, type Server } from '@palisade/server'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { connect as connectPlain, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openTestEvidence } from '../../store/test-store.ts'
import { atEndOfTests, temporaryDirectory } from '../../temporary-directory.ts'
import { makeCertificate } from './make-certificate.ts'

const AUTHORITY = makeCertificate({ name: 'authority' })
const FIRST = makeCertificate({ name: 'first', authority: AUTHORITY })
const SECOND = makeCertificate({ name: 'second', authority: AUTHORITY })
const expiresAt = new Date('2099-01-01T00:00:00Z')

let server: Server
let port: number
let close: () => Promise<void>

const atEnd = atEndOfTests()
beforeAll(async () => {
  const directory = temporaryDirectory(atEnd)
  const store = openSqliteStore(join(directory, 'server.db'))
  const evidence = await openTestEvidence(directory)
  const sources = {
    now: () => new Date(),
    monotonicMs: () => performance.now(),
    random: randomBytes,
    newId: randomUUID,
  }
  server = await createServer({
    config: readConfig({ PALISADE_PORT: '0' }, directory),
    sources,
    store,
    evidence,
    logger: false,
    certificate: { ...FIRST, expiresAt },
  })
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  port = (server.app.server.address() as AddressInfo).port
  close = async () => {
    await server.close()
    await evidence.close()
    await store.close()
  }
})
afterAll(() => close())

async function get(path: string, options: { ca?: string } = {}) {
  const asked = request({ host: '127.0.0.1', port, path, ca: AUTHORITY.cert, ...options }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  return response
}

async function handshake(options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, ca: AUTHORITY.cert, ...options })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

/** The head of an answer with `status` and HSTS. */
const insisting = (status: number) =>
  new RegExp(
    `^http/1.1 ${String(status)} .*\r\nstrict-transport-security: max-age=31536000\r\n`,
    's',
  )

/** In lower case. */
async function headOf(socket: TLSSocket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text.split('\r\n\r\n')[0]?.toLowerCase().concat('\r\n') ?? ''
}

const nameShownTo = (socket: TLSSocket) => socket.getPeerCertificate().subject.CN

describe('a server with a certificate', () => {
  it('serves clients that trust its authority, with HSTS', async () => {
    const response = await get('/healthz')

    expect(response.statusCode).toBe(200)
    expect(response.headers['strict-transport-security']).toBe('max-age=31536000')
    expect(server.origin()).toBe(`https://127.0.0.1:${port}`)
  })

  it.each([
    ['noise', 400, 'hello\r\n\r\n'],
    ['large headers', 431, `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['CONNECT', 405, 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an expectation', 417, 'GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n'],
    ['a malformed path', 404, 'GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['an unknown path', 404, 'GET /no HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
  ])('sends HSTS in the answer to %s', async (_title, status, bytes) => {
    const socket = await handshake()
    socket.write(bytes)
    expect(await headOf(socket)).toMatch(insisting(status))
  })

  it('sends HSTS with a time-out too', async () => {
    const accepted = once(server.app.server, 'secureConnection')
    const socket = await handshake()
    const [connection] = (await accepted) as [TLSSocket]
    const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
    server.app.server.emit('clientError', late, connection)
    expect(await headOf(socket)).toMatch(insisting(408))
  })

  it('is refused by clients that do not trust its authority', async () => {
    await expect(get('/healthz', { ca: SECOND.cert })).rejects.toThrow('unable to')
  })

  it('supports TLS 1.2 and 1.3, and nothing older or weaker', async () => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await handshake({ minVersion: version, maxVersion: version })
      expect(socket.getProtocol()).toBe(version)
    }
    const tooOld = {
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    } as const
    await expect(handshake(tooOld)).rejects.toThrow(/version|alert|disconnected/)
    const tooWeak = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' } as const
    await expect(handshake(tooWeak)).rejects.toThrow(/handshake failure|alert|disconnected/)
  })

  it('refuses renegotiation, which costs it more than the client', async () => {
    const socket = await handshake({ maxVersion: 'TLSv1.2' })

    const outcome = await new Promise<string>((resolve) => {
      socket.on('error', ({ message }) => resolve(message))
      socket.renegotiate({}, (error) => resolve(error === null ? 'renegotiated' : error.message))
    })

    expect(outcome).toMatch(/no renegotiation/)
    expect((await get('/healthz')).statusCode).toBe(200)
  })

  it('survives a client without TLS', async () => {
    const socket = connectPlain(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    socket.resume()
    await once(socket, 'close')

    expect((await get('/healthz')).statusCode).toBe(200)
  })

  it('uses a new certificate from the next handshake on, and drops no connection', async () => {
    const old = await handshake()

    server.replaceCertificate({ ...SECOND, expiresAt })

    expect(nameShownTo(await handshake())).toBe('second')
    old.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    const [answer] = (await once(old, 'data')) as [Buffer]
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 OK/)
    expect(nameShownTo(old)).toBe('first')
    server.replaceCertificate({ ...FIRST, expiresAt })
    expect(nameShownTo(await handshake())).toBe('first')
  })
})
