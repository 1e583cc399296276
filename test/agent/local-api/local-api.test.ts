import { MAX_BUNDLE_BYTES, MAX_GRANT_BYTES } from '@palisade/protocol'
import { once } from 'node:events'
import { mkdir, stat, writeFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLocalApi, type LocalApiDeps } from '../../../agent/src/local-api/local-api.ts'
import { listPolicies } from '../../../agent/src/local-api/list-policies.ts'
import { claimSocket, listenOnSocket } from '../../../agent/src/local-api/listen-on-socket.ts'
import { activePolicy } from '../fixture/active-policy.ts'
import { bundleOf } from '../fixture/bundle.ts'
import { askAgent } from '../fixture/local-request.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'
import { REFUSING_API } from '../fixture/refusing-api.ts'

async function startApi(
  sync: LocalApiDeps['sync'] = async () => ({ outcome: 'unchanged', revision: 7, error: null }),
  decide?: LocalApiDeps['decide'],
  others: Partial<LocalApiDeps> = {},
): Promise<{
  socketPath: string
  errors: unknown[]
  imported: string[]
  server: Server
}> {
  const { active, use } = activePolicy()
  use(bundleOf(['allow', 'read', '/data/**']))
  const errors: unknown[] = []
  const imported: string[] = []
  const server = createLocalApi({
    ...REFUSING_API,
    decide: decide ?? (async (value) => active.decide(value)),
    decideUnresolved: (value) => active.decide(value),
    explain: async (value) => active.explain(value),
    status: () => {
      throw new Error('a bug')
    },
    policies: () => listPolicies(active),
    addDeny: async () => ({ outcome: 'unchanged', denies: [], error: null }),
    removeDenies: async () => ({ outcome: 'unchanged', denies: [], error: null }),
    sync,
    import: async (body) => {
      imported.push(Buffer.concat(body).toString())
      return { outcome: 'updated', revision: 8, error: null }
    },
    beginBreakGlass: async (body) => {
      imported.push(Buffer.from(body).toString())
      return { outcome: 'begun', grant: null, error: null }
    },
    endBreakGlass: async () => ({ outcome: 'ended', grant: null, error: null }),
    log: async function* () {},
    sandboxLimits: () => ({ processes: null, memory: null }),
    verifyLog: async () => ({
      intact: true,
      lines: 0,
      files: 0,
      lost: 0,
      faults: [],
      head: null,
    }),
    onError: (error) => errors.push(error),
    ...others,
  })
  const socketPath = join(await temporaryDirectory(), 'agent', 'agent.sock')
  await claimSocket(socketPath)
  await listenOnSocket(server, socketPath)
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { socketPath, errors, imported, server }
}

describe('the local API', () => {
  it('passes on a bundle file unchanged, which may be larger than other bodies', async () => {
    const { socketPath, imported, server } = await startApi()
    // A machine under load takes longer for the larger one than a request may.
    server.requestTimeout = 0
    const text = `{"not":"judged here${' '.repeat(1_000_000)}"`

    const taken = await askAgent(socketPath, 'POST', '/v1/import', text)
    const huge = Buffer.alloc(MAX_BUNDLE_BYTES + 1, ' ')
    const refused = await askAgent(socketPath, 'POST', '/v1/import', huge)

    expect(taken).toMatchObject({ status: 200, body: { outcome: 'updated', revision: 8 } })
    expect(refused.status).toBe(413)
    expect(imported).toEqual([text])
  })

  it('passes a grant file on unchanged, but not a larger body', async () => {
    const { socketPath, imported } = await startApi()
    const text = '{"not":"judged here'

    const taken = await askAgent(socketPath, 'POST', '/v1/break-glass', text)
    const huge = Buffer.alloc(MAX_GRANT_BYTES + 1, ' ')
    const refused = await askAgent(socketPath, 'POST', '/v1/break-glass', huge)
    const ended = await askAgent(socketPath, 'POST', '/v1/break-glass/end')

    expect(taken).toMatchObject({ status: 200, body: { outcome: 'begun' } })
    expect(refused.status).toBe(413)
    expect(imported).toEqual([text])
    expect(ended).toMatchObject({ status: 200, body: { outcome: 'ended' } })
    expect((await askAgent(socketPath, 'GET', '/v1/break-glass')).status).toBe(405)
  })

  it('answers decisions and explanations', async () => {
    const { socketPath } = await startApi()

    const allowed = await askAgent(
      socketPath,
      'POST',
      '/v1/decide',
      '{"action":"read","path":"/data/x"}',
    )
    const denied = await askAgent(
      socketPath,
      'POST',
      '/v1/decide',
      '{"action":"write","path":"/data/x"}',
    )
    const explained = await askAgent(
      socketPath,
      'POST',
      '/v1/explain',
      '{"action":"write","path":"/data/x"}',
    )

    expect(allowed).toMatchObject({ status: 200, body: { decision: 'allow', revision: 7 } })
    expect(denied).toMatchObject({
      status: 200,
      body: { decision: 'deny', reason: 'default_deny' },
    })
    expect(explained.body).toMatchObject({
      decision: 'deny',
      near_misses: [{ miss: 'other_action' }],
    })
    expect(await askAgent(socketPath, 'POST', '/v1/sync')).toMatchObject({
      status: 200,
      body: { outcome: 'unchanged' },
    })
  })

  it.each([
    'null',
    '[]',
    '"text"',
    '7',
    '{}',
    '{"action":"read"}',
    '{"action":"connect:tcp","host":"a..b","port":1}',
  ])('denies the request %s instead of failing', async (text) => {
    const { socketPath } = await startApi()

    expect(await askAgent(socketPath, 'POST', '/v1/decide', text)).toMatchObject({
      status: 200,
      body: { decision: 'deny', reason: 'invalid_request', request: null },
    })
  })

  it.each([
    ['no body', ''],
    ['broken JSON', '{"action":'],
    ['a repeated member', '{"action":"read","action":"write","path":"/data/x"}'],
    ['deep nesting', '['.repeat(5000) + ']'.repeat(5000)],
    ['invalid UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['a byte order mark', '\uFEFF{}'],
  ])('answers 400 to %s', async (_what, body) => {
    const { socketPath } = await startApi()

    expect(await askAgent(socketPath, 'POST', '/v1/decide', body)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_argument' } },
    })
  })

  it('answers 413 to more than 64 KiB and closes', async () => {
    const { socketPath } = await startApi()

    // The rest of the body never comes: a client that still writes when the connection ends may
    // lose the answer.
    const socket = connect(socketPath)
    let answer = ''
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text))
    const head = 'POST /v1/decide HTTP/1.1\r\nhost: agent\r\ncontent-length: 200000\r\n\r\n'
    socket.write(`${head}"${'x'.repeat(65_536)}`)
    await once(socket, 'close')

    expect(answer).toMatch(/^HTTP\/1\.1 413 [^]*\r\nconnection: close\r\n/i)
    expect(answer).toContain('"code":"invalid_argument"')
  })

  it.each(['/v1/import', '/v1/break-glass'])(
    'accepts a body of %s in 1,024 pieces, plus one for each 256 bytes',
    async (path) => {
      const { socketPath, imported } = await startApi()

      expect(await sendInPieces(socketPath, path, 1_028)).toContain('HTTP/1.1 200')
      expect(imported).toEqual(['x'.repeat(1_028)])
    },
  )

  it.each([
    ['/v1/import', 1_029],
    ['/v1/break-glass', 1_029],
    ['/v1/import', 20_000],
    ['/v1/decide', 20_000],
  ])('answers 413 to a body of %s in %d one-byte pieces, and closes', async (path, chunks) => {
    const { socketPath, imported } = await startApi()

    const answer = await sendInPieces(socketPath, path, chunks)

    expect(answer).toContain('HTTP/1.1 413')
    expect(answer).toContain('the body comes in too many pieces')
    expect(imported).toEqual([])
  })

  it('tells how sandboxes are bounded', async () => {
    const { socketPath } = await startApi()
    expect(await askAgent(socketPath, 'GET', '/v1/sandboxes/limits')).toMatchObject({
      status: 200,
      body: { processes: null, memory: null },
    })
    expect((await askAgent(socketPath, 'POST', '/v1/sandboxes/limits')).status).toBe(405)
  })

  it('answers 404 and 405 in the envelope', async () => {
    const { socketPath } = await startApi()

    const wrongMethod = await askAgent(socketPath, 'GET', '/v1/decide')

    expect(await askAgent(socketPath, 'GET', '/v1/nothing')).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found' } },
    })
    expect(wrongMethod).toMatchObject({
      status: 405,
      body: { error: { code: 'invalid_argument' } },
    })
    expect(wrongMethod.headers['allow']).toBe('POST')
  })

  it('answers 500 to a bug without revealing it', async () => {
    const { socketPath, errors } = await startApi()

    expect(await askAgent(socketPath, 'GET', '/v1/status')).toEqual({
      status: 500,
      headers: expect.anything(),
      body: { error: { code: 'internal', message: 'internal error' } },
    })
    expect(errors).toHaveLength(1)
  })
})

describe('a crowd on the socket', () => {
  const open = async (socketPath: string, text = ''): Promise<Socket> => {
    const socket = connect(socketPath).on('error', () => {})
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    socket.write(text)
    return socket
  }

  it.each(['', 'POST /v1/decide HTTP/1.1\r\nhost: agent\r\ncontent-length: 9\r\n\r\n{'])(
    'of connections that send %j does not lock out others',
    async (text) => {
      const { socketPath } = await startApi()
      for (let index = 0; index < 300; index += 1) await open(socketPath, text)

      const answer = await askAgent(socketPath, 'POST', '/v1/decide', '{}')

      expect(answer.status).toBe(200)
    },
  )

  it('of requests for a fetch is bounded, and the first ones get their answer', async () => {
    const end = Promise.withResolvers<void>()
    const { socketPath } = await startApi(async () => {
      await end.promise
      return { outcome: 'unchanged', revision: 7, error: null }
    })
    const first = Array.from({ length: 64 }, () => askAgent(socketPath, 'POST', '/v1/sync'))
    await askAgent(socketPath, 'POST', '/v1/decide', '{}')

    const refused = await askAgent(socketPath, 'POST', '/v1/sync')
    for (let index = 0; index < 300; index += 1) await open(socketPath)
    end.resolve()

    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'limit_exceeded' } } })
    expect(refused.headers['retry-after']).toBe('1')
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual(Array(64).fill(200))
    expect((await askAgent(socketPath, 'POST', '/v1/sync')).status).toBe(200)
  })
})

describe('a caller that ends its side after the request', () => {
  it.each([
    ['that waits', '/v1/sync'],
    ['that does not wait', '/v1/decide'],
  ])('gets the answer to a request %s, and the connection ends', async (_what, path) => {
    const { socketPath } = await startApi(async () => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      return { outcome: 'unchanged', revision: 7, error: null }
    })
    const socket = connect({ path: socketPath, allowHalfOpen: true })
    let answer = ''
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text))
    socket.end(`POST ${path} HTTP/1.1\r\nhost: agent\r\ncontent-length: 2\r\n\r\n{}`)
    await new Promise((resolve) => socket.once('close', resolve))

    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('is closed when the request is incomplete', async () => {
    const { socketPath } = await startApi()
    const socket = connect({ path: socketPath, allowHalfOpen: true })
    socket.end('POST /v1/decide HTTP/1.1\r\nhost: agent\r\ncontent-length: 2\r\n\r\n{')
    let answer = ''
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text))
    await new Promise((resolve) => socket.once('close', resolve))

    expect(answer).not.toContain('200')
  })
})

describe('explanations', () => {
  it('waiting at once are at most sixteen', async () => {
    const end = Promise.withResolvers<void>()
    const { active } = activePolicy()
    let waiting = 0
    const { socketPath } = await startApi(undefined, undefined, {
      explain: async (value) => {
        waiting += 1
        await end.promise
        return active.explain(value)
      },
    })
    const ask = () => askAgent(socketPath, 'POST', '/v1/explain', '{}')
    const first = Array.from({ length: 16 }, ask)
    await expect.poll(() => waiting).toBe(16)

    const refused = await ask()
    const decided = await askAgent(socketPath, 'POST', '/v1/decide', '{}')
    end.resolve()

    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'limit_exceeded' } } })
    expect(decided.status).toBe(200)
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual(Array(16).fill(200))
    expect((await ask()).status).toBe(200)
  })
})

describe('an unread answer', () => {
  /** More than the kernel buffers. */
  const error = { code: 'x', message: 'x'.repeat(2_000_000) }
  const ask = (socketPath: string): Socket => {
    const socket = connect(socketPath).on('error', () => {})
    onTestFinished(() => void socket.destroy())
    socket.write('POST /v1/import HTTP/1.1\r\nhost: agent\r\ncontent-length: 0\r\n\r\n')
    return socket
  }
  /** Sends two unread requests on a route that lets two wait. */
  const start = async (flushTimeoutMs: number) => {
    let imports = 0
    const { socketPath } = await startApi(undefined, undefined, {
      import: async () => {
        imports += 1
        return { outcome: 'failed', revision: null, error: imports <= 2 ? error : null }
      },
      flushTimeoutMs,
    })
    const unread = [ask(socketPath), ask(socketPath)]
    await expect.poll(() => imports).toBe(2)
    const again = async (): Promise<number> =>
      (await askAgent(socketPath, 'POST', '/v1/import')).status
    return { unread, again }
  }

  it('keeps its slot until it is read', async () => {
    const { unread, again } = await start(60_000)

    const before = await again()
    unread[0]?.resume()
    await expect.poll(again).toBe(200)

    expect(before).toBe(429)
  })

  it('frees its slot with its connection', async () => {
    const { unread, again } = await start(500)
    await expect.poll(again).toBe(200)
    let received = 0
    unread[0]?.on('data', (chunk: Buffer) => (received += chunk.byteLength))
    await new Promise((resolve) => unread[0]?.once('close', resolve))

    expect(received).toBeLessThan(2_000_000)
  })
})

describe('requests of one connection', () => {
  const head = 'POST /v1/decide HTTP/1.1\r\nhost: agent\r\ncontent-length: 2\r\n'
  const pipelined = (count: number): string =>
    `${head}\r\n{}`.repeat(count - 1) + `${head}connection: close\r\n\r\n{}`

  interface Outcome {
    readonly most: number
    readonly answers: number
    /** Calls before that of another connection with a single request. */
    readonly before: number
  }

  const send = async (count: number): Promise<Outcome> => {
    const { active } = activePolicy()
    let [running, most, calls, before] = [0, 0, 0, 0]
    const { socketPath, errors } = await startApi(undefined, async (value) => {
      if (Array.isArray(value)) before = calls
      else calls += 1
      most = Math.max(most, (running += 1))
      await new Promise((resolve) => setImmediate(resolve))
      running -= 1
      return active.decide(value)
    })
    const other = connect(socketPath)
    onTestFinished(() => void other.destroy())
    const socket = connect(socketPath).on('error', () => {})
    await Promise.all([once(socket, 'connect'), once(other, 'connect')])
    let answer = ''
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text))
    socket.write(pipelined(count))
    other.write(`${head}\r\n[]`)
    await Promise.all([
      new Promise((resolve) => socket.once('close', resolve)),
      once(other, 'data'),
    ])
    expect(errors).toEqual([])
    return { most, before, answers: answer.match(/HTTP\/1\.1 200/g)?.length ?? 0 }
  }

  it('are answered one after another, with others in between', async () => {
    const { most, answers, before } = await send(3_000)

    expect(answers).toBe(3_000)
    expect(most).toBeLessThanOrEqual(2)
    expect(before).toBeLessThan(20)
  })

  it('are not read further before an answer', async () => {
    const first = Promise.withResolvers<void>()
    const { active } = activePolicy()
    const api = await startApi(undefined, async (value) => {
      await first.promise
      return active.decide(value)
    })
    let requests = 0
    api.server.on('request', () => (requests += 1))
    const socket = connect(api.socketPath)
    onTestFinished(() => void socket.destroy())
    socket.write(pipelined(10))
    await expect.poll(() => requests).toBe(1)
    await askAgent(api.socketPath, 'POST', '/v1/sync')
    expect(requests).toBe(2)

    first.resolve()
    let answer = ''
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text))
    await new Promise((resolve) => socket.once('close', resolve))

    expect(requests).toBe(11)
    expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(10)
  })

  it('with an unknown expectation are each answered 417', async () => {
    const { socketPath } = await startApi()
    const socket = connect(socketPath)
    const odd = 'GET /v1/status HTTP/1.1\r\nhost: agent\r\nexpect: tea\r\n'
    socket.write(`${odd}\r\n${odd}connection: close\r\n\r\n`)
    let answer = ''
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text))
    await new Promise((resolve) => socket.once('close', resolve))

    expect(answer.match(/HTTP\/1\.1 417/g)).toHaveLength(2)
  })
})

/** Sends a body in one-byte chunks; returns the answer up to the end of the connection. */
async function sendInPieces(socketPath: string, path: string, chunks: number): Promise<string> {
  const socket = connect(socketPath)
  const head = `POST ${path} HTTP/1.1\r\nhost: agent\r\nconnection: close\r\n`
  socket.write(`${head}transfer-encoding: chunked\r\n\r\n`)
  socket.write(`${'1\r\nx\r\n'.repeat(chunks)}0\r\n\r\n`)
  let answer = ''
  socket.setEncoding('utf8').on('data', (text: string) => (answer += text))
  // The server ends the connection while this side still writes.
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('close', resolve))
  return answer
}

describe('the socket', () => {
  it('belongs to this user alone', async () => {
    const { socketPath } = await startApi()

    expect((await stat(socketPath)).mode & 0o777).toBe(0o600)
    expect((await stat(join(socketPath, '..'))).mode & 0o777).toBe(0o700)
  })

  it('leaves the socket of a running agent alone', async () => {
    const { socketPath } = await startApi()

    await expect(claimSocket(socketPath)).rejects.toThrow('an agent is already running')
    await expect(listenOnSocket(createServer(), socketPath)).rejects.toThrow(
      'an agent is already running',
    )

    expect(await askAgent(socketPath, 'POST', '/v1/sync')).toMatchObject({ status: 200 })
  })

  it('does not remove a file that is not a socket', async () => {
    const path = join(await temporaryDirectory(), 'agent.sock')
    await writeFile(path, 'precious')

    await expect(claimSocket(path)).rejects.toThrow('is not a socket')
  })

  it('is refused in a directory that is open to others', async () => {
    const directory = join(await temporaryDirectory(), 'open')
    await mkdir(directory, { mode: 0o755 })

    await expect(claimSocket(join(directory, 'agent.sock'))).rejects.toThrow('open to other users')
  })

  it('reports a path that is too long', async () => {
    const path = join(await temporaryDirectory(), 'x'.repeat(120), 'agent.sock')

    await expect(listenOnSocket(createServer(), path)).rejects.toThrow('PALISADE_AGENT_SOCKET')
  })
})
