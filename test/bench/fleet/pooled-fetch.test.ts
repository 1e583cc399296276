import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPooledFetch } from '../../../bench/src/fleet/pooled-fetch.ts'
import { createTimeline } from '../../../bench/src/fleet/timeline.ts'

async function setUp(listener: RequestListener, connections = 2) {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  let opened = 0
  server.on('connection', () => (opened += 1))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const timeline = createTimeline(() => 0)
  const fetch = createPooledFetch(connections, timeline)
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const outcomes = () => timeline.seconds()[0]?.outcomes
  return { server, fetch, url, timeline, outcomes, opened: () => opened }
}

describe('createPooledFetch', () => {
  it('answers as the built-in fetch does, with and without a body', async () => {
    const { fetch, url, timeline } = await setUp((request, response) => {
      if (request.headers['if-none-match'] === '"1"') response.writeHead(304).end()
      else
        response.writeHead(200, { etag: '"1"', 'content-length': 100_000 }).end('x'.repeat(100_000))
    })

    const first = await fetch(`${url}/a/timestamp.json`, { headers: {} })
    const headers = { 'if-none-match': first.headers.get('etag') ?? '' }
    const second = await fetch(`${url}/a/timestamp.json`, { headers })

    expect([first.status, (await first.text()).length]).toEqual([200, 100_000])
    expect([second.status, await second.text()]).toEqual([304, ''])
    expect(timeline.seconds()[0]).toMatchObject({
      sent: { poll: 2, fetch: 0 },
      outcomes: { 200: 1, 304: 1 },
    })
  })

  it('sends a body with its content-length', async () => {
    const { fetch, url } = await setUp((request, response) => {
      request.on('data', (chunk: Buffer) => response.end(`${request.method} ${chunk.toString()}`))
    })

    const answer = await fetch(`${url}/x`, { method: 'POST', headers: {}, body: '{"a":1}' })

    expect(await answer.text()).toBe('POST {"a":1}')
  })

  it('opens no more connections than allowed and reuses them', async () => {
    const { fetch, url, opened } = await setUp((_request, response) => response.end('ok'))

    const answers = Array.from({ length: 20 }, () => fetch(`${url}/x`, { headers: {} }))

    expect((await Promise.all(answers)).every(({ status }) => status === 200)).toBe(true)
    expect(opened()).toBe(2)
  })

  it('rejects the pending request when the connection closes, then reconnects', async () => {
    const { fetch, url, server, outcomes } = await setUp((request, response) => {
      if (request.url === '/hang') server.closeAllConnections()
      else response.end('ok')
    })

    await expect(fetch(`${url}/hang`, { headers: {} })).rejects.toThrow('closed the connection')
    expect((await fetch(`${url}/x`, { headers: {} })).status).toBe(200)
    expect(outcomes()).toEqual({ none: 1, 200: 1 })
  })

  it('rejects a chunked response', async () => {
    const { fetch, url } = await setUp((_request, response) => {
      response.write('one')
      response.end('two')
    })

    await expect(fetch(`${url}/x`, { headers: {} })).rejects.toThrow('closed the connection')
  })

  it('rejects every request at once when no server listens', async () => {
    const { fetch, url, server, outcomes } = await setUp(() => undefined)
    server.close()
    await once(server, 'close')

    for (let n = 0; n < 5; n += 1)
      await expect(fetch(`${url}/x`, { headers: {} })).rejects.toThrow('ECONNREFUSED')

    expect(outcomes()).toEqual({ none: 5 })
  })
})
