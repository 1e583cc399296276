import { createServer } from 'node:http'
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BUILT_CLI } from '../../built-programs.ts'
import { startLoopbackServer } from '../../client/loopback-server.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

/** A proxy that answers every CONNECT with 403, as an agent does for a denied request. */
async function startDenyingProxy(): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = []
  const proxy = createServer()
  proxy.on('connect', (request, client) => {
    asked.push(request.url ?? '')
    client.end('HTTP/1.1 403 Palisade: denied, no rule allows it\r\nContent-Length: 0\r\n\r\n')
  })
  return { url: await listen(proxy), asked }
}

async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

/** A port without a listener. */
async function startNothing(): Promise<string> {
  const server = createServer()
  const url = await listen(server)
  server.close()
  await once(server, 'close')
  return url
}

/** Runs `palisade ARGV` with an account at `server`. */
async function palisade(
  argv: readonly string[],
  server: string,
  env: Readonly<Record<string, string>>,
): Promise<{ code: unknown; err: string }> {
  await using directory = await temporaryDirectory()
  const home = directory.path
  const account = {
    PALISADE_SERVER: server,
    PALISADE_ORG: 'acme',
    PALISADE_USERNAME: 'alice',
    PALISADE_TOKEN: 'pal_pat_x',
  }
  const child = spawn(process.execPath, [...BUILT_CLI, ...argv], {
    cwd: home,
    env: { HOME: home, NODE_USE_ENV_PROXY: '1', ...account, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let err = ''
  child.stderr.on('data', (text: Buffer) => (err += text.toString()))
  const [code] = await once(child, 'close')
  return { code, err }
}

async function startServer(): Promise<Awaited<ReturnType<typeof startLoopbackServer>>> {
  const server = await startLoopbackServer(() => ({
    status: 401,
    body: { error: { code: 'unauthenticated', message: 'the secret is wrong' } },
  }))
  onTestFinished(() => server[Symbol.asyncDispose]())
  return server
}

describe('an administrator command', () => {
  it('does not show the value of NO_PROXY', async () => {
    const server = await startServer()
    const proxy = await startNothing()

    const { err } = await palisade(['policy', 'list'], server.url, {
      http_proxy: proxy,
      no_proxy: 'a.example,\u001b[31msecret',
    })

    expect(err).toContain(`the proxy ${proxy} (http_proxy) cannot be reached`)
    expect(err).toContain('add `,127.0.0.1` to `no_proxy`')
    expect(err).not.toContain('secret')
  })

  it('names the proxy that refuses the server, and how to bypass it', async () => {
    const server = await startServer()
    const proxy = await startDenyingProxy()
    const withSecret = proxy.url.replace('//', '//user:hidden@')

    const { code, err } = await palisade(['policy', 'list'], server.url, { HTTP_PROXY: withSecret })

    expect(code).toBe(1)
    expect(err).toBe(
      `error: cannot reach the server at ${server.url}: ` +
        `the proxy ${proxy.url} (HTTP_PROXY) refused to connect to it ` +
        'with status 403; to bypass the proxy, set `NO_PROXY=127.0.0.1` ' +
        '(ERR_SERVER_UNREACHABLE)\n',
    )
    expect(proxy.asked).toContain(new URL(server.url).host)
    expect(server.seen).toEqual([])
  })

  it('names the proxy that is not running, and keeps existing exceptions', async () => {
    const server = await startServer()
    const proxy = await startNothing()

    const { err } = await palisade(['policy', 'list'], server.url, {
      http_proxy: proxy,
      no_proxy: 'example.com',
    })

    expect(err).toContain(
      `the proxy ${proxy} (http_proxy) cannot be reached; ` +
        'to bypass the proxy, add `,127.0.0.1` to `no_proxy`',
    )
  })

  it.each(['https_proxy', 'HTTPS_PROXY', 'HTTP_PROXY'])(
    'names the proxy of %s for a server with TLS',
    async (variable) => {
      const proxy = await startDenyingProxy()

      const { err } = await palisade(['device', 'list'], 'https://policy.test', {
        [variable]: proxy.url,
      })

      expect(err).toContain(`the proxy ${proxy.url} (${variable}) refused to connect to it`)
      expect(err).toContain('`NO_PROXY=policy.test`')
    },
  )

  it.each<[string, Record<string, string>]>([
    ['NO_PROXY names the server', { NO_PROXY: '127.0.0.1' }],
    ['Node is not told to use it', { NODE_USE_ENV_PROXY: '0' }],
  ])('bypasses the proxy if %s', async (_, env) => {
    const server = await startServer()
    const proxy = await startDenyingProxy()

    const { err } = await palisade(['policy', 'list'], server.url, {
      HTTP_PROXY: proxy.url,
      ...env,
    })

    expect(err).toContain('the secret is wrong')
    expect(proxy.asked).toEqual([])
  })

  it('names only the server if the server is not running', async () => {
    const server = await startNothing()
    const proxy = await startDenyingProxy()

    const { err } = await palisade(['policy', 'list'], server, {
      HTTP_PROXY: proxy.url,
      NO_PROXY: '127.0.0.1',
    })

    expect(err).toContain('connection refused; is it running?')
    expect(err).not.toContain('proxy')
  })
})

describe('a command that asks the agent', () => {
  it.each([
    ['status', ['status'], 'GET /v1/status'],
    ['sync', ['sync'], 'POST /v1/sync'],
    ['check', ['check', 'connect:tcp', 'example.com:443'], 'POST /v1/decide'],
    ['explain', ['explain', 'connect:tcp', 'example.com:443'], 'POST /v1/explain'],
  ])('uses no proxy: %s', async (_, argv, request) => {
    const proxy = await startDenyingProxy()
    await using directory = await temporaryDirectory()
    const socket = join(directory.path, 'agent.sock')
    await using agent = await startLoopbackServer(() => ({ status: 500, body: {} }), socket)

    await palisade(argv, 'http://127.0.0.1:9', {
      PALISADE_AGENT_SOCKET: socket,
      HTTP_PROXY: proxy.url,
      HTTPS_PROXY: proxy.url,
    })

    expect(agent.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([request])
    expect(proxy.asked).toEqual([])
  })
})
