import { readBoundedBody, type FetchAnswer } from '@palisade/client'
import { getEventListeners, once } from 'node:events'
import { createServer as createPlain, type RequestListener, type Server } from 'node:http'
import { createServer as createTls } from 'node:https'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createHttpFetch } from '../../../../agent/src/sync/transport/fetch-over-http.ts'
import { makeCertificate } from '../../../server/operations/tls/make-certificate.ts'
import { never } from '../../fixture/sync-scene.ts'

const fetch = createHttpFetch()
const HAS_IPV6 = Object.values(networkInterfaces())
  .flat()
  .some((each) => each?.address === '::1')
const AUTHORITY = makeCertificate({ name: 'authority' })

let answer: RequestListener

beforeEach(() => {
  answer = (_request, response) => response.end('{}')
})

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

async function start(): Promise<string> {
  const port = await listen(createPlain((request, response) => answer(request, response)))
  return `http://127.0.0.1:${port}`
}

function get(url: string, signal = never): Promise<FetchAnswer> {
  return fetch(url, { method: 'GET', headers: {}, redirect: 'manual', signal })
}

async function textOf({ body }: FetchAnswer, maxBytes = 1_000): Promise<string | null> {
  const bytes = await readBoundedBody(body, maxBytes)
  return bytes === null ? null : Buffer.from(bytes).toString()
}

/** Answers with `count` chunks of `size` bytes each, as fast as they are read. */
function answerInChunks(count: number, size: number): void {
  answer = ({ socket: connection }) => {
    connection.on('error', () => {})
    const chunk = `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`
    connection.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
    connection.write(`${chunk.repeat(count)}0\r\n\r\n`)
  }
}

describe('an answer in small chunks', () => {
  it('is accepted when it is short', async () => {
    const url = await start()
    answerInChunks(1_000, 1)

    expect(await textOf(await get(url))).toBe('x'.repeat(1_000))
  })

  it('is accepted when the chunks have an ordinary size', async () => {
    const url = await start()
    answerInChunks(8_000, 1_024)

    expect(await textOf(await get(url), 8_192_000)).toHaveLength(8_192_000)
  })

  it.each([1, 2, 100])('is aborted when there are too many, of %d bytes each', async (size) => {
    const url = await start()
    answerInChunks(200_000, size)

    const { body } = await get(url)
    let chunks = 0
    const read = async (): Promise<void> => {
      for await (const _ of body ?? []) chunks += 1
    }

    await expect(read()).rejects.toThrow('too many pieces')
    expect(chunks).toBeLessThan(1_024 * 2)
  })

  it('is also aborted when its interim answers have no end', async () => {
    const url = await start()
    answer = ({ socket }) => {
      socket.on('error', () => {})
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n'.repeat(1_000))
    }

    await expect(get(url)).rejects.toThrow('endless interim answers')
  })
})

describe('fetching by node:http', () => {
  it('sends method, headers and body, and returns the answer', async () => {
    const url = await start()
    answer = (request, response) => {
      const { method, headers } = request
      const { 'content-length': length, 'x-a': a } = headers
      response.writeHead(201, { 'content-type': 'application/json', etag: '"e"' })
      request.setEncoding('utf8').once('data', (sent) => {
        response.end(JSON.stringify([method, request.url, a, length, sent]))
      })
    }
    const headers = { 'x-a': 'b' }
    const asked = {
      method: 'POST',
      headers,
      body: 'öl',
      redirect: 'manual',
      signal: never,
    } as const

    const given = await fetch(`${url}/p?q=1`, asked)

    expect([given.status, given.headers.get('etag'), given.headers.get('x-none')]).toEqual([
      201,
      '"e"',
      null,
    ])
    expect(JSON.parse((await textOf(given)) ?? '')).toEqual(['POST', '/p?q=1', 'b', '3', 'öl'])
  })

  it('keeps a connection for the next request, unless it must be closed', async () => {
    const url = await start()
    const ports = new Set<number | undefined>()
    answer = (request, response) => {
      ports.add(request.socket.remotePort)
      response.writeHead(404).end('{}')
    }
    for (let count = 0; count < 3; count += 1) await (await get(url)).body?.cancel()
    expect(ports.size).toBe(1)

    let socket: { readonly destroyed: boolean } | null = null
    answer = (request, response) => {
      ;({ socket } = request)
      response.end('{}')
    }
    const headers = { connection: 'close' }
    await textOf(await fetch(url, { method: 'GET', headers, redirect: 'manual', signal: never }))

    await expect.poll(() => socket?.destroyed).toBe(true)
  })

  it('follows no redirect', async () => {
    const url = await start()
    const asked: (string | undefined)[] = []
    answer = (request, response) => {
      asked.push(request.url)
      response.writeHead(302, { location: '/elsewhere' }).end()
    }

    expect((await get(`${url}/here`)).status).toBe(302)
    expect(asked).toEqual(['/here'])
  })

  it('asks for no compression, and does not decompress', async () => {
    const url = await start()
    const bomb = gzipSync('x'.repeat(1_000_000))
    let wanted: unknown
    answer = (request, response) => {
      wanted = request.headers['accept-encoding']
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
    }

    const bytes = await readBoundedBody((await get(url)).body, 10_000)

    expect(wanted).toBe('identity')
    expect(bytes).toEqual(bomb)
  })

  it('joins a repeated header, so that neither value passes for the only one', async () => {
    const url = await start()
    answer = (_request, response) => {
      response.setHeader('content-type', ['application/json', 'text/html'])
      response.end('{}')
    }

    expect((await get(url)).headers.get('content-type')).toBe('application/json, text/html')
  })

  it.each([
    ['that is never answered', () => {}],
    ['whose answer is never complete', (_request, response) => void response.write('a')],
    [
      'whose answer lasts as long as its connection',
      (request) => void request.socket.write('HTTP/1.1 200 OK\r\n\r\na'),
    ],
  ] as [string, RequestListener][])('ends a request %s by its signal', async (_what, never) => {
    const url = await start()
    let ended = 0
    answer = (request, response) => {
      request.socket.on('close', () => (ended += 1))
      never(request, response)
    }
    const signal = AbortSignal.timeout(100)

    const outcome = await get(url, signal)
      .then((given) => textOf(given))
      .catch((error: unknown) => (error instanceof Error ? error.name : error))

    expect(outcome).toMatch(/^(?:Abort|Timeout)Error$/)
    await expect.poll(() => ended).toBe(1)
  })

  it('rejects an answer that breaks off, but not with the error of a signal', async () => {
    const url = await start()
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': 1000 })
      response.write('abc', () => response.destroy())
    }

    await expect(textOf(await get(url))).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  it('rejects an answer that broke off before it was read', async () => {
    const url = await start()
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': 1000 })
      response.write('abc', () => response.destroy())
    }
    const { signal } = new AbortController()

    const given = await get(url, signal)
    await expect.poll(() => getEventListeners(signal, 'abort').length).toBe(0)

    await expect(textOf(given)).rejects.toThrow('closed')
  })

  it.each([
    ['before it is read', (abort: () => void) => abort()],
    ['as it ends', (abort: () => void) => process.nextTick(abort)],
  ])('rejects a complete answer when its signal aborts %s', async (_when, then) => {
    const url = await start()
    const stop = new AbortController()

    const reading = textOf(await get(url, stop.signal))
    then(() => stop.abort())

    await expect(reading).rejects.toMatchObject({ name: 'AbortError' })
  })

  it.each([
    ['another protocol', 'SSH-2.0-x\r\n'],
    [
      'a protocol switch',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
    ],
    ['endless headers', `HTTP/1.1 200 OK\r\n${'name: value\r\n'.repeat(5_000)}\r\n`],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  ])('rejects an answer with %s', async (_what, bytes) => {
    const server = createPlain()
    server.on('connection', (socket) => socket.write(bytes))
    const url = `http://127.0.0.1:${await listen(server)}`

    await expect(get(url).then((given) => textOf(given))).rejects.toBeInstanceOf(Error)
  })

  it('does not send a request for an aborted signal', async () => {
    const asked: (string | undefined)[] = []
    const url = await start()
    answer = ({ url: path }, response) => {
      asked.push(path)
      response.end('{}')
    }
    const stop = new AbortController()
    stop.abort()

    await expect(get(`${url}/not`, stop.signal)).rejects.toMatchObject({ name: 'AbortError' })
    await textOf(await get(`${url}/that`))

    expect(asked).toEqual(['/that'])
  })

  it('watches the signal until the answer ends, and no longer', async () => {
    const url = await start()
    answer = (_request, response) => void response.write('{')
    const stop = new AbortController()
    const watching = (): number => getEventListeners(stop.signal, 'abort').length

    const endless = textOf(await get(url, stop.signal))
    expect(watching()).toBe(1)
    stop.abort()
    await expect(endless).rejects.toMatchObject({ name: 'AbortError' })
    await expect.poll(watching).toBe(0)

    answer = (_request, response) => response.end('{}')
    const next = new AbortController()
    expect(await textOf(await get(url, next.signal))).toBe('{}')
    await expect.poll(() => getEventListeners(next.signal, 'abort').length).toBe(0)
  })

  it.skipIf(!HAS_IPV6)('reaches an address in brackets', async () => {
    const server = createPlain((request, response) => response.end(request.headers.host))
    server.listen(0, '::1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const host = `[::1]:${(server.address() as AddressInfo).port}`

    expect(await textOf(await get(`http://${host}/`))).toBe(host)
  })

  it('reports why a server is unreachable, also for a name with several addresses', async () => {
    const server = createPlain()
    const port = await listen(server)
    server.close()
    await once(server, 'close')

    // `localhost` has two addresses on many machines, and the error covers both.
    for (const host of ['127.0.0.1', 'localhost']) {
      const error: unknown = await get(`http://${host}:${port}/`).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'ECONNREFUSED' })
      expect((error as Error).message).toContain('ECONNREFUSED')
    }
  })

  it('sends over TLS only to a server with a trusted certificate for its name', async () => {
    const startTls = async (certificate: { cert: string; key: string }): Promise<string> => {
      const server = createTls(certificate, (request, response) => answer(request, response))
      return `https://127.0.0.1:${await listen(server)}`
    }
    const url = await startTls(makeCertificate({ name: 'one', authority: AUTHORITY }))
    // A certificate that names neither a host nor an address.
    const nameless = await startTls(AUTHORITY)
    await expect(get(url)).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' })

    const usual = getCACertificates('default')
    setDefaultCACertificates([AUTHORITY.cert])
    onTestFinished(() => setDefaultCACertificates(usual))

    expect(await textOf(await get(url))).toBe('{}')
    await expect(get(nameless)).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  })

  it('refuses an untrusted certificate, whatever the environment says', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    onTestFinished(() => void vi.unstubAllEnvs())
    let requests = 0
    const server = createTls(makeCertificate({ name: 'foreign' }), (_request, response) => {
      requests += 1
      response.end()
    })
    const url = `https://127.0.0.1:${await listen(server)}`

    await expect(get(url)).rejects.toMatchObject({
      code: expect.stringMatching(/CERT|SIGNATURE/),
    })
    expect(requests).toBe(0)
  })
})
