import { createAgentClient, keepName } from '@palisade/client'
import { agentStatusSchema, type RecordLine } from '@palisade/protocol'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { NOW_MS, policyOf, type RuleLine } from './fixture/bundle.ts'
import { askAgent } from './fixture/local-request.ts'
import { startNameServer } from './fixture/name-server.ts'
import { packBundle } from './fixture/pack-bundle.ts'
import { startParent } from './fixture/parent-proxy.ts'
import { connectTo, exchangeRaw } from './fixture/proxy.ts'
import { temporaryDirectory } from './fixture/temporary-directory.ts'
import { createRepository, rulesOf } from './fixture/view-repository.ts'
import { startAgent } from './container-scene.ts'

describe('the container', () => {
  it('answers over its socket like the proxy, with the same name servers', async () => {
    const { server, asked } = await startNameServer({ 'packages.test': { A: ['203.0.113.7'] } })
    const settings = { PALISADE_DNS_SERVERS: server }
    const socketPath = await startAgent(['allow', 'connect:tcp', '0.0.0.0/0'], [], { settings })
    const request = { action: 'connect:tcp', host: 'packages.test', port: 443 }

    const ask = (path: string, resolve?: true): Promise<{ body: unknown }> =>
      askAgent(socketPath, 'POST', path, JSON.stringify({ ...request, resolve }))

    expect((await ask('/v1/decide')).body).toMatchObject({ reason: 'default_deny' })
    expect(asked).toEqual([])
    const allowed = { decision: 'allow', request: { ...request, address: '203.0.113.7' } }
    expect((await ask('/v1/decide', true)).body).toMatchObject(allowed)
    expect((await ask('/v1/explain', true)).body).toMatchObject({ ...allowed, near_misses: [] })
    expect(asked.filter((query) => query.endsWith(' A'))).toHaveLength(2)
  })

  it('resolves names with another resolver if one is registered', async () => {
    const resolve = async (): Promise<readonly string[]> => ['203.0.113.9']
    const rule = ['allow', 'connect:tcp', '0.0.0.0/0'] as const
    const socketPath = await startAgent(rule, [], { resolve })
    const request = { action: 'connect:tcp', host: 'packages.test', port: 443, resolve: true }

    const { body } = await askAgent(socketPath, 'POST', '/v1/decide', JSON.stringify(request))

    expect(body).toMatchObject({ decision: 'allow', request: { address: '203.0.113.9' } })
  })

  it('sends allowed connections through the parent proxy, and decides like it', async () => {
    const parent = await startParent({ refuse: () => 418 })
    const settings = {
      PALISADE_PARENT_PROXY: `http://127.0.0.1:${parent.port}`,
      PALISADE_PARENT_RESOLVES: 'yes',
    }
    const rule = ['allow', 'connect:tcp', 'a.test', '0.0.0.0/0', '127.0.0.1'] as const
    const socketPath = await startAgent(rule, [], { settings })
    const statusOf = async () =>
      agentStatusSchema.parse((await askAgent(socketPath, 'GET', '/v1/status')).body)
    const proxyPort = Number(new URL((await statusOf()).proxy).port)
    const decide = async (host: string, port: number): Promise<unknown> => {
      const request = { action: 'connect:tcp', host, port, resolve: true }
      return (await askAgent(socketPath, 'POST', '/v1/decide', JSON.stringify(request))).body
    }

    const carried = await exchangeRaw(proxyPort, connectTo('a.test:443'))
    const unlisted = await exchangeRaw(proxyPort, connectTo('b.test:443'))
    const loop = await exchangeRaw(proxyPort, connectTo(`127.0.0.1:${parent.port}`))

    expect(carried.head).toContain('502 Palisade: the parent proxy answered 418')
    expect(parent.asked).toEqual(['a.test:443'])
    expect([unlisted.status, loop.status]).toEqual([403, 403])
    expect(await decide('a.test', 443)).toMatchObject({ decision: 'allow' })
    expect(await decide('a.test', 443)).not.toHaveProperty('addresses')
    expect(await decide('b.test', 443)).toMatchObject({
      decision: 'deny',
      hint: expect.stringContaining('the parent proxy resolves names'),
    })
    expect(await decide('127.0.0.1', parent.port)).toMatchObject({ decision: 'deny' })
    expect((await statusOf()).parent_proxy).toEqual({
      url: settings.PALISADE_PARENT_PROXY,
      resolves: true,
      last_error: {
        code: 'refused',
        message: 'the parent proxy answered 418',
        at: '2026-11-21T12:00:00.000Z',
      },
    })
  })

  it.each<[string, RuleLine]>([
    ['allows loopback', ['allow', 'connect:tcp', '127.0.0.0/8', '0.0.0.0/32', '::1', '::/128']],
    ['denies loopback', ['deny', 'connect:tcp', '127.0.0.0/8', '0.0.0.0/32', '::1', '::/128']],
    ['allows every address', ['allow', 'connect:tcp', '0.0.0.0/0', '::/0']],
  ])('answers like the proxy for its own address, when the policy %s', async (_, rule) => {
    const { server } = await startNameServer({ 'back.test': { A: ['127.0.0.1'] } })
    const settings = { PALISADE_DNS_SERVERS: server, PALISADE_PROXY_PORT: '0' }
    const socketPath = await startAgent(rule, [], { settings })
    const status = await askAgent(socketPath, 'GET', '/v1/status')
    const port = Number(new URL(agentStatusSchema.parse(status.body).proxy).port)

    for (const host of ['127.0.0.1', '127.1', '2130706433', '127.0.0.1.', '0.0.0.0', 'localhost']) {
      const answer = await exchangeRaw(port, connectTo(`${host}:${port}`))
      const request = { action: 'connect:tcp', host, port, resolve: true }
      const decide = await askAgent(socketPath, 'POST', '/v1/decide', JSON.stringify(request))
      const explain = await askAgent(socketPath, 'POST', '/v1/explain', JSON.stringify(request))

      const reason = rule[0] === 'deny' ? 'rule' : 'protected_address'
      expect(JSON.parse(answer.body), host).toMatchObject({ decision: 'deny', reason })
      expect(decide.body, host).toMatchObject({ decision: 'deny', reason })
      expect(explain.body, host).toMatchObject({ decision: 'deny', reason })
    }
  })

  it('shows the name that it was enrolled under, and no name without one', async () => {
    const named = await startAgent(['allow', 'read', '/x'], [], { name: 'build machine' })
    const unnamed = await startAgent(['allow', 'read', '/x'])
    const statusOf = async (socketPath: string) =>
      (await askAgent(socketPath, 'GET', '/v1/status')).body

    expect(await statusOf(named)).toMatchObject({ enrolled_as: 'build machine' })
    expect(await statusOf(unnamed)).not.toHaveProperty('enrolled_as')
  })

  it('counts its local rules in the status, and omits the member without any', async () => {
    const mine = policyOf(['deny', 'read', '/a'], ['deny', 'read', '/b'], ['allow', 'read', '/c'])
    const withFile = await startAgent(['allow', 'read', '/x'], [], { localPolicies: [mine] })
    const without = await startAgent(['allow', 'read', '/x'])
    const statusOf = async (socketPath: string) =>
      (await askAgent(socketPath, 'GET', '/v1/status')).body

    expect(await statusOf(withFile)).toMatchObject({ local_rules: { denies: 2, allows: 1 } })
    expect(await statusOf(without)).not.toHaveProperty('local_rules')
  })

  it('lists a bounded part of its local rules in the status', async () => {
    const resources = Array.from({ length: 12 }, (_, index) => `/r${index}`)
    const many = Array.from({ length: 120 }, () => ['deny', 'read', ...resources] as const)
    const mine = policyOf(...many)
    const socketPath = await startAgent(['allow', 'read', '/x'], [], { localPolicies: [mine] })

    const { body } = await askAgent(socketPath, 'GET', '/v1/status')
    const { rules } = agentStatusSchema.parse(body).local_rules ?? {}

    expect(rules).toHaveLength(100)
    expect(rules?.[0]).toEqual({
      policy_name: mine.name,
      name: 'Rule 1',
      decision: 'deny',
      actions: ['read'],
      resources: ['/r0', '/r1', '/r2', '/r3', '/r4'],
      resource_count: 12,
    })
  })

  it('shows that its proxy is in force, and neither counts nor records a probe', async () => {
    const socketPath = await startAgent(['allow', 'connect:tcp', '**.internal'])
    const status = async () =>
      agentStatusSchema.parse((await askAgent(socketPath, 'GET', '/v1/status')).body)

    await expect
      .poll(async () => (await status()).probes?.proxy, { timeout: 60_000 })
      .toMatchObject({ ok: true, at: '2026-11-21T12:00:00.000Z' })
    expect((await status()).decisions).toEqual({ allowed: 0, denied: 0 })

    const port = Number(new URL((await status()).proxy).port)
    const probe = await exchangeRaw(port, connectTo('denied.probe.palisade.internal:443'))
    expect(probe.status).toBe(403)
    expect((await status()).decisions).toEqual({ allowed: 0, denied: 0 })
    const answer = await exchangeRaw(port, connectTo('denied.test:443'))
    expect(answer.status).toBe(403)
    expect((await status()).decisions).toEqual({ allowed: 0, denied: 1 })
    await expect.poll(async () => (await status()).records?.written, { timeout: 60_000 }).toBe(1)
  })

  it('composes a complete agent from its surroundings', async () => {
    const socketPath = await startAgent(['allow', 'read', '~/work/**'])

    const decide = (path: string): Promise<{ body: unknown }> =>
      askAgent(socketPath, 'POST', '/v1/decide', JSON.stringify({ action: 'read', path }))

    expect((await decide('/home/dev/work/x')).body).toMatchObject({
      decision: 'allow',
      revision: 7,
    })
    expect((await decide('/home/other/work/x')).body).toMatchObject({ decision: 'deny' })
    // Requests beside the poll are answered in their own time.
    const status = async () => (await askAgent(socketPath, 'GET', '/v1/status')).body
    await expect.poll(status).toMatchObject({
      state: 'fresh',
      org: 'acme',
      agent_version: '0.0.0',
      started_at: '2026-11-21T12:00:00.000Z',
      bundle: { revision: 7, policies: 1, rules: 1, source: 'server' },
      decisions: { allowed: 0, denied: 0 },
      hints: { is_on: true, last_error: { code: 'absent' } },
      cache_problem: null,
    })
  })

  it('enforces a bundle file from the socket although the server is unreachable', async () => {
    const lines: unknown[] = []
    const repository = createRepository()
    const rule = ['allow', 'read', '/data/**'] as const
    const socketPath = await startAgent(rule, lines, { repository, served: new Map() })
    const bundle = packBundle(repository.release(rulesOf(rule)))
    const decide = async (): Promise<unknown> =>
      (await askAgent(socketPath, 'POST', '/v1/decide', '{"action":"read","path":"/data/x"}')).body
    expect(await decide()).toMatchObject({ decision: 'deny', reason: 'no_policy' })

    const refused = await askAgent(socketPath, 'POST', '/v1/import', bundle.subarray(1))
    const taken = await askAgent(socketPath, 'POST', '/v1/import', bundle)

    expect(refused.body).toMatchObject({ outcome: 'failed', error: { code: 'malformed' } })
    const in_force = { state: 'fresh', revision: 7 }
    expect(taken.body).toEqual({ outcome: 'updated', revision: 7, error: null, in_force })
    expect(await decide()).toMatchObject({ decision: 'allow', revision: 7 })
    expect((await askAgent(socketPath, 'GET', '/v1/status')).body).toMatchObject({
      state: 'fresh',
      bundle: { revision: 7, source: 'file' },
      sync: { last_success_at: null, failing_since: '2026-11-21T12:00:00.000Z' },
    })
    expect(lines).toContainEqual({ outcome: 'updated', revision: 7 })
  })

  it('records the decisions of proxy and socket, with the program, and checks them', async () => {
    const socketPath = await startAgent(['allow', 'read', '/data/**'])
    const client = createAgentClient({ socketPath })
    const port = Number(new URL((await client.status()).proxy).port)

    // Its end stays open, so that its program can be found however slowly.
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    socket.write(connectTo('a.test:443'))
    await once(socket, 'data')
    await client.decide({ action: 'read', path: '/data/x' })
    const records: RecordLine[] = []
    for await (const line of client.log()) records.push(line)

    const proxied = records.find((line) => 'point' in line && line.point === 'proxy')
    expect(records).toHaveLength(2)
    expect(proxied).toMatchObject({
      protocol: 'connect',
      time: new Date(NOW_MS).toISOString(),
      decision: { reason: 'default_deny', request: { host: 'a.test', port: 443 }, revision: 7 },
      count: 1,
      program: { pid: process.pid, executable: realpathSync(process.execPath) },
    })
    expect(records).toContainEqual(
      expect.objectContaining({
        point: 'local_api',
        protocol: 'decide',
        decision: expect.objectContaining({ decision: 'allow', reason: 'rule' }),
      }),
    )
    expect(await client.verifyLog()).toMatchObject({ intact: true, lines: 2 })
    expect((await client.status()).records).toMatchObject({ written: 2, lost: 0, error: null })
  })

  it('logs a change of the state', async () => {
    const lines: unknown[] = []

    await startAgent(['allow', 'read', '/one'], lines)

    expect(lines).toContainEqual({ state: 'fresh', former: 'never_loaded', revision: 7 })
  })

  it('reports its state and revision to the server', async () => {
    const sent: unknown[] = []

    await startAgent(['allow', 'read', '/one'], [], { sent })

    const report = {
      revision: 7,
      state: 'fresh',
      agent_version: '0.0.0',
      enforcement: { proxy: 'in_force' },
      assurance: 'proxy-only',
      policy_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    }
    await expect
      .poll(() => sent, { timeout: 300_000 })
      .toContainEqual(['/api/v1/device/report', report])
  })

  it('shares no state between two agents', async () => {
    const [one, other] = await Promise.all([
      startAgent(['allow', 'read', '/one']),
      startAgent(['allow', 'read', '/other']),
    ])
    const request = JSON.stringify({ action: 'read', path: '/one' })

    const answers = await Promise.all(
      [one, other].map((path) => askAgent(path, 'POST', '/v1/decide', request)),
    )

    expect(answers.map(({ body }) => body)).toMatchObject([
      { decision: 'allow' },
      { decision: 'deny' },
    ])
  })

  it('allows nothing while two organizations claim the machine', async () => {
    const directory = await temporaryDirectory()
    const second = join(directory, 'agent', 'enrolment.json')
    await mkdir(join(directory, 'agent'), { mode: 0o700 })
    const claim = (text: string) => writeFile(second, text, { mode: 0o600 })
    const enrolmentOf = (org: string) =>
      JSON.stringify(keepName(createRepository('http://127.0.0.1:9', { org }).enrolment, 'laptop'))
    await claim(enrolmentOf('rival'))
    const settings = { PALISADE_ENROLMENT: '/etc/palisade/enrolment.json' }

    const socketPath = await startAgent(['allow', 'read', '/data/**'], [], { directory, settings })

    const ask = async () => {
      const request = JSON.stringify({ action: 'read', path: '/data/x' })
      const decided = await askAgent(socketPath, 'POST', '/v1/decide', request)
      const status = await askAgent(socketPath, 'GET', '/v1/status')
      const { state } = status.body as { state: string }
      return [state, (decided.body as { decision: string }).decision]
    }
    expect(await ask()).toEqual(['conflict', 'deny'])
    expect((await askAgent(socketPath, 'GET', '/v1/status')).body).toMatchObject({
      enrolment_files: ['/etc/palisade/enrolment.json', second],
    })
    expect((await askAgent(socketPath, 'POST', '/v1/sync')).body).toMatchObject({
      outcome: 'unchanged',
      in_force: { state: 'conflict', revision: null },
    })
    for (const [change, expected] of [
      [() => claim(enrolmentOf('acme')), ['fresh', 'allow']],
      [() => claim('no enrolment'), ['conflict', 'deny']],
      [() => rm(second), ['fresh', 'allow']],
    ] as const) {
      await change()
      const synced = await askAgent(socketPath, 'POST', '/v1/sync')
      expect(await ask()).toEqual(expected)
      const [state, decision] = expected
      const verified = (synced.body as { revision: number }).revision
      const revision = decision === 'allow' ? verified : null
      expect(synced.body).toMatchObject({ in_force: { state, revision } })
    }
    const { body } = await askAgent(socketPath, 'GET', '/v1/status')
    expect(body).not.toHaveProperty('enrolment_files')
  })
})
