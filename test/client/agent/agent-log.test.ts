import type { RecordLine } from '@palisade/protocol'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAgentClient } from '../../../packages/client/src/agent/agent-client.ts'

const RECORD: RecordLine = {
  seq: 1,
  boot: 'boot-1',
  time: '2026-11-21T12:00:00.000Z',
  point: 'proxy',
  protocol: 'connect',
  decision: {
    decision: 'deny',
    reason: 'default_deny',
    rules: [],
    request: { action: 'connect:tcp', host: 'a.test', port: 443 },
    revision: 7,
    stale: false,
    hint: null,
  },
  count: 1,
  previous: '0'.repeat(64),
}
const LOSS: RecordLine = {
  seq: 2,
  boot: 'boot-1',
  time: '2026-11-21T12:00:01.000Z',
  lost: 3,
  reason: 'queue_full',
  previous: '1'.repeat(64),
}
const line = (record: unknown): string => `${JSON.stringify(record)}\n`

/** A socket whose server hands over each response. */
async function startAgent(
  answer: (response: ServerResponse) => void,
): Promise<{ socketPath: string; urls: string[] }> {
  const directory = await mkdtemp(join(tmpdir(), 'palisade-log-'))
  const socketPath = join(directory, 'agent.sock')
  const urls: string[] = []
  const server = createServer((request, response) => {
    urls.push(request.url ?? '')
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  onTestFinished(async () => {
    server.close()
    server.closeAllConnections()
    await rm(directory, { recursive: true })
  })
  return { socketPath, urls }
}

async function collect(records: AsyncIterable<RecordLine>): Promise<RecordLine[]> {
  const found: RecordLine[] = []
  for await (const record of records) found.push(record)
  return found
}

describe('the log of the agent client', () => {
  it('has decisions and losses in any pieces, and asks as told', async () => {
    const text = Buffer.from(line(RECORD) + line(LOSS))
    const { socketPath, urls } = await startAgent((response) => {
      for (let at = 0; at < text.byteLength; at += 7) response.write(text.subarray(at, at + 7))
      response.end()
    })
    const client = createAgentClient({ socketPath })

    expect(await collect(client.log())).toEqual([RECORD, LOSS])
    await collect(client.log({ limit: 5, denied: true }))
    await collect(client.log({ denied: false, follow: true }))
    await collect(client.log({ questions: false }))

    expect(urls).toEqual([
      '/v1/log',
      '/v1/log?limit=5&denied=1',
      '/v1/log?follow=1',
      '/v1/log?questions=0',
    ])
  })

  it('goes on while it is followed, longer than the timeout, until its signal aborts', async () => {
    const responses: ServerResponse[] = []
    const { socketPath } = await startAgent((response) => {
      responses.push(response)
      response.write(line(RECORD))
    })
    const end = new AbortController()
    const client = createAgentClient({ socketPath, timeoutMs: 1_000 })

    const found: RecordLine[] = []
    for await (const record of client.log({ follow: true, signal: end.signal })) {
      found.push(record)
      if (found.length === 1) setTimeout(() => responses[0]?.write(line(LOSS)), 1_500)
      else end.abort()
    }

    expect(found).toEqual([RECORD, LOSS])
  })

  it('hangs up when its caller stops reading', async () => {
    const closed = Promise.withResolvers<void>()
    const { socketPath } = await startAgent((response) => {
      response.once('close', () => closed.resolve())
      response.write(line(RECORD))
    })

    for await (const record of createAgentClient({ socketPath }).log({ follow: true })) {
      expect(record).toEqual(RECORD)
      break
    }

    await closed.promise
  })

  it.each<[string, (response: ServerResponse) => void, string]>([
    ['a refusal', (response) => response.writeHead(429).end(refusal()), 'ERR_API'],
    ['another shape', (response) => response.end('{"seq":1}\n'), 'ERR_UNEXPECTED_ANSWER'],
    ['no JSON', (response) => response.end('hello\n'), 'ERR_UNEXPECTED_ANSWER'],
    ['a cut line', (response) => response.end('{"seq":1'), 'ERR_UNEXPECTED_ANSWER'],
    ['an endless line', (response) => response.end('x'.repeat(1_100_000)), 'ERR_UNEXPECTED_ANSWER'],
    [
      'a cut answer',
      (response) => response.write(line(RECORD), () => response.destroy()),
      'ERR_AGENT_UNREACHABLE',
    ],
    ['silence', () => {}, 'ERR_AGENT_TIMEOUT'],
    ['silence after a line', (response) => void response.write(line(RECORD)), 'ERR_AGENT_TIMEOUT'],
  ])('throws at %s', async (_what, answer, code) => {
    const { socketPath } = await startAgent(answer)

    const reading = collect(createAgentClient({ socketPath, timeoutMs: 300 }).log())

    await expect(reading).rejects.toMatchObject({ code })
  })

  it('throws while no agent runs, and ends quietly when its signal has aborted', async () => {
    const client = createAgentClient({ socketPath: '/nonexistent/agent.sock' })

    await expect(collect(client.log())).rejects.toMatchObject({ code: 'ERR_AGENT_UNREACHABLE' })
    expect(await collect(client.log({ signal: AbortSignal.abort() }))).toEqual([])
  })
})

function refusal(): string {
  return JSON.stringify({ error: { code: 'limit_exceeded', message: 'too many' } })
}
