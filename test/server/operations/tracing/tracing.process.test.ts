import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { startServerProcess } from '../../server-process.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'
const SOURCES = fileURLToPath(new URL('../../../../server/src/', import.meta.url))

interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: readonly { key: string; value: Record<string, unknown> }[]
}

/** A collector that accepts OTLP as JSON. */
async function openCollector() {
  const spans: ReceivedSpan[] = []
  const bodies: string[] = []
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      bodies.push(body)
      spans.push(...spansOf(body))
      return response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, spans, text: () => bodies.join('\n') }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function spansOf(body: string): ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(body) as {
    resourceSpans: { scopeSpans: { spans: ReceivedSpan[] }[] }[]
  }
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
}

const start = (settings: Record<string, string>) =>
  startServerProcess({ PALISADE_DATA_DIR: join(temporaryDirectory(), 'data'), ...settings })

it('sends a span of each request below its caller, without client data', async () => {
  const collector = await openCollector()
  const server = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
  const headers = {
    traceparent: `00-${TRACE}-${CALLER}-01`,
    'content-type': 'application/json',
    'x-request-id': 'followed',
  }
  const body = JSON.stringify({ username: 'alice', password: 'in-the-body' })
  await fetch(`${server.url}/v2/auth/token?in-the-query`, { method: 'POST', headers, body })
  await fetch(`${server.url}/in-the-path`, { headers: { traceparent: 'nonsense' } })

  const outcome = await server.stop('SIGTERM')

  expect(outcome).toMatchObject({ status: 0, stderr: '' })
  const request = collector.spans.find(({ name }) => name === 'POST /v2/auth/token')
  expect(request).toMatchObject({ traceId: TRACE, parentSpanId: CALLER, kind: 2 })
  expect(request?.attributes).toEqual(
    expect.arrayContaining([
      { key: 'http.route', value: { stringValue: '/v2/auth/token' } },
      { key: 'http.response.status_code', value: { intValue: 401 } },
      { key: 'palisade.request_id', value: { stringValue: 'followed' } },
    ]),
  )
  const unknown = collector.spans.find(({ name }) => name === 'GET')
  expect(unknown?.traceId).not.toBe(TRACE)
  expect(unknown?.parentSpanId ?? '').toBe('')
  expect(collector.text()).not.toMatch(/in-the-/)
  expect(outcome.stdout).toContain(`"trace_id":"${TRACE}"`)
})

it('records store operations of a request as child spans', async () => {
  const collector = await openCollector()
  const server = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ username: 'nobody', password: 'a password' })
  await fetch(`${server.url}/v2/auth/token`, { method: 'POST', headers, body })

  await server.stop('SIGTERM')

  const request = collector.spans.find(({ name }) => name === 'POST /v2/auth/token')
  const read = collector.spans.find(({ name }) => name === 'store.read')
  expect(read).toMatchObject({ traceId: request?.traceId, parentSpanId: request?.spanId })
})

it('does not let callers decide what is recorded', async () => {
  const collector = await openCollector()
  const server = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER_ARG: '0',
  })
  await fetch(`${server.url}/healthz`, { headers: { traceparent: `00-${TRACE}-${CALLER}-01` } })

  await server.stop('SIGTERM')

  expect(collector.spans).toEqual([])
})

it('serves and stops normally without the collector, and logs that once', async () => {
  const server = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' })
  for (let count = 0; count < 3; count += 1)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  const stoppedMs = performance.now()

  const outcome = await server.stop('SIGTERM')

  expect(outcome).toMatchObject({ status: 0, stderr: '' })
  expect(performance.now() - stoppedMs).toBeLessThan(30_000)
  expect(outcome.stdout.split('traces cannot be exported')).toHaveLength(2)
})

it('ignores trace headers while it is off', async () => {
  const collector = await openCollector()
  const server = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_EXPORTER: 'none',
  })
  await fetch(`${server.url}/nowhere`, { headers: { traceparent: `00-${TRACE}-${CALLER}-01` } })

  const { stdout } = await server.stop('SIGTERM')

  expect(collector.text()).toBe('')
  expect(stdout).not.toContain(TRACE)
})

it('is loaded only by the setting', () => {
  const importers = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('operations/tracing'))
    .filter((path) =>
      /^import (?!type)[^(]*?(@opentelemetry|create-tracing)/m.test(
        readFileSync(join(SOURCES, path), 'utf8'),
      ),
    )

  expect(importers).toEqual([])
})
