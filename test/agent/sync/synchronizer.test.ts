import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createBundleCache } from '../../../agent/src/sync/bundle-cache.ts'
import { fetchBundle } from '../../../agent/src/sync/fetch-bundle.ts'
import { createSynchronizer, type Synchronizer } from '../../../agent/src/sync/synchronizer.ts'
import { activePolicy } from '../fixture/active-policy.ts'
import { bundleClaims, createSigner, hoursFromNow, NOW_MS, policyOf } from '../fixture/bundle.ts'
import { serveBundle, startPolicyServer, type PolicyServer } from '../fixture/policy-server.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'

const signer = await createSigner()
const request = { action: 'read', path: '/data/x' }
const policies = [policyOf(['allow', 'read', '/data/**'])]
const never = new AbortController().signal

interface Scene extends ReturnType<typeof activePolicy> {
  readonly server: PolicyServer
  readonly file: string
  readonly synchronizer: Synchronizer
}

async function setUp(directory?: string): Promise<Scene> {
  const server = await startPolicyServer()
  const file = join(directory ?? (await temporaryDirectory()), 'bundle.jws')
  const enrolment = { ...signer.enrolment, server: server.url }
  const policy = activePolicy()
  const synchronizer = createSynchronizer({
    active: policy.active,
    cache: createBundleCache(file, 100_000),
    enrolment,
    clock: () => policy.surroundings.nowMs,
    fetchBundle: (etag, signal) =>
      fetchBundle({ fetch, enrolment, timeoutMs: 300, maxBytes: 100_000 }, etag, signal),
  })
  return { ...policy, server, file, synchronizer }
}

describe('a sync', async () => {
  it('brings a fetched bundle into force and keeps it on disk', async () => {
    const { server, synchronizer, active, file } = await setUp()
    const jws = await signer.sign(bundleClaims({ policies }))
    server.answer = serveBundle(jws)

    expect(await synchronizer.run(never)).toEqual({
      outcome: 'updated',
      revision: 7,
      error: null,
      retryAfterMs: null,
    })

    expect(active.decide(request).decision).toBe('allow')
    expect(await readFile(file, 'utf8')).toBe(jws)
    expect(server.requests[0]?.headers.authorization).toBe('Bearer pal_dev_secret')
  })

  it('asks conditionally while the bundle is fresh, and whole once it is stale', async () => {
    const { server, synchronizer, surroundings } = await setUp()
    server.answer = serveBundle(await signer.sign(bundleClaims()))
    await synchronizer.run(never)

    expect(await synchronizer.run(never)).toMatchObject({ outcome: 'unchanged', revision: 7 })
    surroundings.nowMs = NOW_MS + 25 * 3_600_000
    await synchronizer.run(never)

    expect(server.requests.map((sent) => sent.headers['if-none-match'])).toEqual([
      undefined,
      '"1"',
      undefined,
    ])
  })

  it('does not let a 304 renew freshness', async () => {
    const { server, synchronizer, active, surroundings } = await setUp()
    server.answer = serveBundle(await signer.sign(bundleClaims({ policies })))
    await synchronizer.run(never)
    surroundings.nowMs = NOW_MS + 23 * 3_600_000
    await synchronizer.run(never)

    surroundings.nowMs = NOW_MS + 24 * 3_600_000

    expect(active.state()).toBe('stale')
  })

  const html: PolicyServer['answer'] = (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>')
  const truncated: PolicyServer['answer'] = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/jose', 'content-length': 1000 })
    response.write('abc', () => response.destroy())
  }
  const status =
    (code: number, headers = {}): PolicyServer['answer'] =>
    (_request, response) =>
      response.writeHead(code, headers).end('{}')
  const body =
    (text: string): PolicyServer['answer'] =>
    (_request, response) =>
      response.writeHead(200, { 'content-type': 'application/jose' }).end(text)
  const impostor = await createSigner()

  it.each([
    ['an HTML page', html, 'content_type'],
    ['an empty answer', body(''), 'empty'],
    ['an answer that is too large', body('x'.repeat(100_001)), 'too_large'],
    ['an answer that breaks off', truncated, 'truncated'],
    ['a 304 that nobody asked for', status(304), 'not_modified_without_bundle'],
    ['a redirect', status(302, { location: 'http://127.0.0.1:1/' }), 'redirected'],
    ['401', status(401), 'unauthorized'],
    ['404', status(404), 'http_status'],
    ['500', status(500), 'http_status'],
    ['silence', () => {}, 'timeout'],
    ['a forged bundle', body(await impostor.sign(bundleClaims())), 'bad_signature'],
    ['an older bundle', body(await signer.sign(bundleClaims({ revision: 6 }))), 'older_revision'],
    [
      'a bundle that does not compile',
      body(
        await signer.sign(
          bundleClaims({
            revision: 8,
            policies: [policyOf(['allow', 'connect:tcp', '10.0.0.1/8'])],
          }),
        ),
      ),
      'not_compilable',
    ],
  ])('keeps the last good bundle after %s', async (_what, answer, code) => {
    const { server, synchronizer, active, file, use } = await setUp()
    use(bundleClaims({ policies }))
    server.answer = answer

    const outcome = await synchronizer.run(never)

    expect(outcome).toMatchObject({ outcome: 'failed', revision: 7, error: { code } })
    expect(active.decide(request)).toMatchObject({ decision: 'allow', revision: 7 })
    await expect(readFile(file)).rejects.toThrow('ENOENT')
  })

  it('names an unreachable server and remembers since when', async () => {
    const { server, synchronizer, surroundings } = await setUp()
    server.answer = status(500)
    await synchronizer.run(never)
    surroundings.nowMs = NOW_MS + 60_000
    await synchronizer.run(never)
    expect(synchronizer.record()).toMatchObject({
      failing_since: hoursFromNow(0),
      last_attempt_at: new Date(NOW_MS + 60_000).toISOString(),
      last_success_at: null,
      last_error: { code: 'http_status' },
    })

    server.answer = serveBundle(await signer.sign(bundleClaims()))
    await synchronizer.run(never)

    expect(synchronizer.record()).toMatchObject({ failing_since: null, last_error: null })
  })

  it('denies everything under a signed bundle of a later schema, also after a restart', async () => {
    const directory = await temporaryDirectory()
    const first = await setUp(directory)
    first.use(bundleClaims({ policies }))
    first.server.answer = serveBundle(
      await signer.sign({ ...bundleClaims({ revision: 8 }), schema: 2 }),
    )

    expect(await first.synchronizer.run(never)).toMatchObject({
      outcome: 'failed',
      error: { code: 'unsupported_policy' },
    })
    expect(first.active.decide(request).reason).toBe('unsupported_policy')

    const second = await setUp(directory)
    await second.synchronizer.restore()
    expect(second.active.decide(request).reason).toBe('unsupported_policy')
  })

  it('keeps the last good bundle when the new one cannot be kept on disk', async () => {
    const { server, synchronizer, active, use } = await setUp(
      join(await temporaryDirectory(), 'gone'),
    )
    use(bundleClaims({ policies }))
    server.answer = serveBundle(await signer.sign(bundleClaims({ revision: 8 })))

    expect(await synchronizer.run(never)).toMatchObject({
      outcome: 'failed',
      error: { code: 'cache_not_written' },
    })
    expect(active.decide(request)).toMatchObject({ decision: 'allow', revision: 7 })
  })

  it('takes on the wait that a busy server asks for', async () => {
    const { server, synchronizer } = await setUp()
    server.answer = status(503, { 'retry-after': '120' })

    expect(await synchronizer.run(never)).toMatchObject({ retryAfterMs: 120_000 })
  })
})

describe('a restart', () => {
  it('goes on deciding offline', async () => {
    const directory = await temporaryDirectory()
    await writeFile(join(directory, 'bundle.jws'), await signer.sign(bundleClaims({ policies })), {
      mode: 0o600,
    })
    const { synchronizer, active } = await setUp(directory)

    expect(await synchronizer.restore()).toBeNull()

    expect(active.decide(request)).toMatchObject({ decision: 'allow', revision: 7 })
    expect(active.current()).toMatchObject({ source: 'cache' })
  })

  it('denies with an expired bundle, and still takes no older one', async () => {
    const directory = await temporaryDirectory()
    const expired = bundleClaims({
      issued_at: hoursFromNow(-9),
      expires_at: hoursFromNow(-1),
      policies,
    })
    await writeFile(join(directory, 'bundle.jws'), await signer.sign(expired), { mode: 0o600 })
    const { server, synchronizer, active } = await setUp(directory)
    server.answer = serveBundle(await signer.sign(bundleClaims({ revision: 6 })))

    expect(await synchronizer.restore()).toBeNull()

    expect(active.decide(request).reason).toBe('policy_expired')
    expect(await synchronizer.run(never)).toMatchObject({ error: { code: 'older_revision' } })
  })

  it('sets a tampered cache aside and denies until the next good bundle', async () => {
    const directory = await temporaryDirectory()
    const jws = await signer.sign(bundleClaims({ policies }))
    await writeFile(join(directory, 'bundle.jws'), jws.replace(/.(?=\.[^.]*$)/, '_'), {
      mode: 0o600,
    })
    const { server, synchronizer, active } = await setUp(directory)

    const problem = await synchronizer.restore()

    expect(problem?.file).toContain('bundle.jws.rejected-2026')
    expect(await readdir(directory)).toEqual(['bundle.jws.rejected-2026-11-21T12-00-00-000Z'])
    expect(active.decide(request).reason).toBe('no_policy')
    server.answer = serveBundle(jws)
    await synchronizer.run(never)
    expect(active.decide(request).decision).toBe('allow')
  })
})
