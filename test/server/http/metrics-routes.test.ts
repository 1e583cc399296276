import { describe, expect, it, onTestFinished } from 'vitest'
import { createMetrics } from '../../../server/src/operations/metrics/create-metrics.ts'
import { openViewDevice } from '../views/view-device.ts'
import { enrolTestDevice, type TestDevice } from '../test-device.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

const TOKEN = '0123456789abcdef'

/** Returns the value of every sample by its name and labels. */
async function scrape(server: TestServer): Promise<ReadonlyMap<string, number>> {
  const response = await server.send('GET', '/metrics')
  expect(response.statusCode).toBe(200)
  const samples = response.body.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    samples.map((line) => {
      const at = line.lastIndexOf(' ')
      return [line.slice(0, at), Number(line.slice(at + 1))]
    }),
  )
}

const requestsOf = (samples: ReadonlyMap<string, number>) =>
  [...samples.keys()].filter((name) => name.startsWith('palisade_http_requests_total'))

describe('/metrics', () => {
  it('counts and times requests by method, route and status', async () => {
    const server = await openTestServer()
    const { password } = await server.createOrganization('acme', 'alice')
    const as = await server.signIn('alice', String(password))
    const url = '/v2/orgs/acme/governance/policies'
    await server.send('POST', url, { as, payload: { name: 'web' } })
    await server.send('POST', url, { as, payload: { name: 'web' } })
    await server.send('GET', url)

    const samples = await scrape(server)

    const route = 'route="/v2/orgs/:org/governance/policies"'
    expect(samples.get(`palisade_http_requests_total{method="POST",${route},status="201"}`)).toBe(1)
    expect(samples.get(`palisade_http_requests_total{method="POST",${route},status="409"}`)).toBe(1)
    expect(samples.get(`palisade_http_requests_total{method="GET",${route},status="401"}`)).toBe(1)
    const histogram = `palisade_http_request_seconds`
    expect(samples.get(`${histogram}_count{method="POST",${route}}`)).toBe(2)
    expect(samples.get(`${histogram}_bucket{le="+Inf",method="POST",${route}}`)).toBe(2)
    expect(samples.get(`${histogram}_sum{method="POST",${route}}`)).toBeGreaterThan(0)
  })

  it('renders once for concurrent requests', async () => {
    const metrics = createMetrics({ version: 'test' })
    let reads = 0
    metrics.watchQueue('counted', () => (reads += 1))

    const together = await Promise.all([metrics.render(), metrics.render(), metrics.render()])
    const later = await metrics.render()

    for (const text of together) expect(text).toContain('{queue="counted"} 1\n')
    expect(later).toContain('{queue="counted"} 2\n')
  })

  it('counts the work of the store and of signing', async () => {
    const server = await openTestServer()
    const { password } = await server.createOrganization('acme', 'alice')
    const as = await server.signIn('alice', String(password))
    const before = await scrape(server)
    const url = '/v2/orgs/acme/governance/policies'
    await server.send('POST', url, { as, payload: { name: 'web' } })
    await server.send('POST', url, { as, payload: { name: 'web' } })

    const after = await scrape(server)

    const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
    const operations = 'palisade_store_operations_total{operation="transaction"'
    expect(grown(`${operations},outcome="done"}`)).toBe(1)
    expect(grown(`${operations},outcome="refused"}`)).toBe(1)
    expect(grown('palisade_store_seconds_count{operation="transaction"}')).toBe(2)
    expect(after.get('palisade_store_waiting{operation="read"}')).toBe(0)
    expect(after.get('palisade_store_running{operation="transaction"}')).toBe(0)
    expect(before.get('palisade_signing_seconds_count{purpose="access_token"}')).toBe(1)
    expect(after.get('palisade_queue_length{queue="password"}')).toBe(0)
  })

  it('distinguishes served, unchanged and refused polls', async () => {
    const server = await openTestServer()
    const { password } = await server.createOrganization('acme', 'alice')
    const as = await server.signIn('alice', String(password))
    const machine = await enrolTestDevice(server, as, 'acme')
    const { base } = await openViewDevice(server, machine)
    const poll = (from: TestDevice | string, headers: Record<string, string> = {}) =>
      server.send('GET', `${base}/metadata/timestamp.json`, { as: from, headers })

    const { headers } = await poll(machine)
    await poll(machine, { 'if-none-match': String(headers.etag) })
    await poll(machine, { 'if-none-match': String(headers.etag) })
    await poll('nobody')

    const samples = await scrape(server)
    const polls = (outcome: string) => samples.get(`palisade_polls_total{outcome="${outcome}"}`)
    expect(['served', 'unchanged', 'refused', 'failed'].map(polls)).toEqual([1, 2, 1, 0])
  })

  it('has labels only for routes, whatever paths clients request', async () => {
    const server = await openTestServer()
    for (let index = 0; index < 100; index += 1) {
      await server.send('GET', `/nowhere/${index}`)
      await server.send('PUT', `/v2/orgs/org-${index}/governance/policies`)
      await server.send('GET', `/v2/orgs/org-${index}/governance/policies`)
    }

    const samples = await scrape(server)

    expect(requestsOf(samples)).toHaveLength(3)
    expect(
      samples.get('palisade_http_requests_total{method="any",route="unknown",status="404"}'),
    ).toBe(100)
    expect(
      samples.get('palisade_http_requests_total{method="any",route="unknown",status="405"}'),
    ).toBe(100)
  })

  it('reports the version, and is not shared with another server of the process', async () => {
    const [one, other] = [await openTestServer(), await openTestServer()]
    await one.send('GET', '/healthz')

    const samples = await scrape(other)

    expect(requestsOf(samples)).toEqual([])
    expect([...samples.keys()].join('\n')).toMatch(
      /palisade_build_info\{version="\d+\.\d+\.\d+",node="\d+\./,
    )
    expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(1e6)
    expect(samples.get('process_cpu_seconds_total')).toBeGreaterThan(0)
  })

  it('is 404 when it is off', async () => {
    const server = await openTestServer(onTestFinished, { settings: { PALISADE_METRICS: 'off' } })

    expect((await server.send('GET', '/metrics')).statusCode).toBe(404)
  })

  it('requires its token when it has one', async () => {
    const settings = { PALISADE_METRICS_TOKEN: TOKEN }
    const server = await openTestServer(onTestFinished, { settings })
    const status = async (as?: string) =>
      (await server.send('GET', '/metrics', as === undefined ? {} : { as })).statusCode

    expect(await status(TOKEN)).toBe(200)
    expect(await status()).toBe(401)
    expect(await status(`${TOKEN}0`)).toBe(401)
    expect(await status(TOKEN.slice(1))).toBe(401)
  })
})
