import { createAgentClient, type AgentClient } from '@palisade/client'
import type { RecordLine } from '@palisade/protocol'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLocalApi } from '../../../agent/src/local-api/local-api.ts'
import { claimSocket, listenOnSocket } from '../../../agent/src/local-api/listen-on-socket.ts'
import { streamLog } from '../../../agent/src/records/stream-log.ts'
import { verifyRecords } from '../../../agent/src/records/verify-records.ts'
import { askAgent } from '../fixture/local-request.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'
import {
  denial,
  startRecorder,
  type RecordScene,
  type SceneOptions,
} from '../records/record-scene.ts'
import { REFUSING_API } from '../fixture/refusing-api.ts'

interface Scene extends RecordScene {
  readonly socketPath: string
  readonly server: Server
  readonly client: AgentClient
  readonly errors: unknown[]
}

/** A local API with a real recorder; its other routes fail. */
async function start(options: SceneOptions = {}, flushTimeoutMs = 60_000): Promise<Scene> {
  const scene = await startRecorder(options)
  const errors: unknown[] = []
  const server = createLocalApi({
    ...REFUSING_API,
    log: (query, reader) => streamLog(scene, query, reader),
    verifyLog: () => verifyRecords(scene.disk, scene.writer.head()),
    flushTimeoutMs,
    onError: (error) => errors.push(error),
  })
  const socketPath = join(await temporaryDirectory(), 'agent', 'agent.sock')
  await claimSocket(socketPath)
  await listenOnSocket(server, socketPath)
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { ...scene, socketPath, server, errors, client: createAgentClient({ socketPath }) }
}

const hostOf = (line: RecordLine): string =>
  'decision' in line && line.decision.request !== null && 'host' in line.decision.request
    ? line.decision.request.host
    : 'loss'

/** Follows with a bare socket that reads only when the test does. */
async function follow(socketPath: string): Promise<Socket> {
  const socket = connect(socketPath).on('error', () => {})
  onTestFinished(() => void socket.destroy())
  socket.write('GET /v1/log?follow=1 HTTP/1.1\r\nhost: agent\r\n\r\n')
  await once(socket, 'connect')
  return socket
}

describe('GET /v1/log', () => {
  it('answers with the newest records as lines of JSON', async () => {
    const { recorder, client, socketPath } = await start()
    for (const host of ['a', 'b', 'c']) recorder.record(denial(host))

    const hosts: string[] = []
    for await (const line of client.log({ limit: 2 })) hosts.push(hostOf(line))

    expect(hosts).toEqual(['b', 'c'])
    const one = await askAgent(socketPath, 'GET', '/v1/log?limit=1')
    expect(one.headers['content-type']).toBe('application/x-ndjson')
    expect(one.body).toMatchObject({ seq: 3, count: 1 })
  })

  it('goes on with records as they are written', async () => {
    const { recorder, client } = await start()
    recorder.record(denial('h0'))
    const end = new AbortController()

    const hosts: string[] = []
    for await (const line of client.log({ follow: true, signal: end.signal })) {
      hosts.push(hostOf(line))
      if (hosts.length === 5) end.abort()
      else recorder.record(denial(`h${hosts.length}`))
    }

    expect(hosts).toEqual(['h0', 'h1', 'h2', 'h3', 'h4'])
  })

  it.each([
    'limit=0',
    'limit=10001',
    'limit=1.5',
    'limit=',
    'follow=yes',
    'denied=true',
    'limit=1&limit=2',
    'unknown=1',
    'Follow=1',
    '%00',
    '?',
  ])('refuses the query %s', async (query) => {
    const { socketPath, errors } = await start()

    const answer = await askAgent(socketPath, 'GET', `/v1/log?${query}`)

    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_argument' } } })
    expect(errors).toEqual([])
  })

  it('is the only path with a query', async () => {
    const { socketPath } = await start()

    for (const path of [
      '/v1/status?x=1',
      '/v1/log/verification?x=1',
      '/v1/logs?limit=1',
      '/?limit=1',
    ])
      expect((await askAgent(socketPath, 'GET', path)).status, path).toBe(404)
    expect((await askAgent(socketPath, 'POST', '/v1/log?limit=1')).status).toBe(405)
  })

  it('serves eight callers at once, and refuses more until one has gone', async () => {
    const { socketPath } = await start()
    const followers: Socket[] = []
    for (let index = 0; index < 8; index += 1) {
      const follower = await follow(socketPath)
      await once(follower, 'data')
      followers.push(follower)
    }

    const refused = await askAgent(socketPath, 'GET', '/v1/log')
    followers[3]?.destroy()

    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'limit_exceeded' } } })
    const again = async () => {
      const socket = await follow(socketPath)
      const [data] = (await once(socket, 'data')) as [Buffer]
      socket.destroy()
      return data.toString().slice(9, 12)
    }
    await expect.poll(again, { timeout: 60_000 }).toBe('200')
  })

  it('disconnects a follower that does not read, and the others go on', async () => {
    let nowMs = 1_800_000_000_000
    const { recorder, socketPath, client } = await start({ now: () => nowMs })
    const slow = await follow(socketPath)
    slow.pause()
    const end = new AbortController()
    const seen: string[] = []
    const reading = (async () => {
      for await (const line of client.log({ follow: true, signal: end.signal }))
        seen.push(hostOf(line))
    })()
    recorder.record(denial('first'))
    await expect.poll(() => seen).toEqual(['first'])

    const isClosed = once(slow, 'close')
    let written = 1
    for (let minute = 0; minute < 40; minute += 1) {
      for (let index = 0; index < 100; index += 1) recorder.record(denial(`h${index}`))
      written += 100
      await recorder.flush()
      await expect.poll(() => seen.length, { timeout: 60_000 }).toBe(written)
      nowMs += 60_000
    }
    slow.resume()

    await isClosed
    end.abort()
    await reading
  })

  it('disconnects a caller that does not read the history in time', async () => {
    const { recorder, server, socketPath } = await start({}, 100)
    const { decision } = denial('a')
    for (let index = 0; index < 1_000; index += 1) {
      const request = { action: 'read', path: `/${'x'.repeat(3_000)}/${index}` } as const
      recorder.record(denial('a', { decision: { ...decision, request } }))
    }
    await recorder.flush()
    const accepted = once(server, 'connection') as Promise<[Socket]>
    const slow = await follow(socketPath)
    slow.pause()

    const [connection] = await accepted
    await once(connection, 'close')
    const isClosed = once(slow, 'close')
    slow.resume()

    await isClosed
  })

  it('gives a caller that ended its side the history, and then ends', async () => {
    const { recorder, socketPath } = await start()
    recorder.record(denial('a'))
    const socket = connect({ path: socketPath, allowHalfOpen: true })
    socket.end('GET /v1/log?follow=1 HTTP/1.1\r\nhost: agent\r\n\r\n')
    let text = ''
    socket.setEncoding('utf8').on('data', (data: string) => (text += data))

    await once(socket, 'close')

    expect(text).toContain('"host":"a"')
    expect(text).toMatch(/\r\n0\r\n\r\n$/)
  })

  it('ends when the agent stops', async () => {
    const { server, client } = await start()
    const asked = once(server, 'request')
    const reading = client.log({ follow: true })[Symbol.asyncIterator]().next()
    await asked

    server.close()
    server.closeAllConnections()

    await expect(reading).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' })
  })
})

describe('GET /v1/log/verification', () => {
  it('answers whether the chain holds', async () => {
    const { recorder, client } = await start()
    for (const host of ['a', 'b', 'c']) recorder.record(denial(host))
    await recorder.flush()

    expect(await client.verifyLog()).toMatchObject({ intact: true, lines: 3, files: 1, faults: [] })
  })
})
