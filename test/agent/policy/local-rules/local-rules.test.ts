import { createAgentClient, type AgentClient } from '@palisade/client'
import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { denyFileOf, readDenies } from '../../../../agent/src/policy/local-rules/deny-file.ts'
import {
  checkDenies,
  denyPolicies,
} from '../../../../agent/src/policy/local-rules/deny-policies.ts'
import { createLocalRules } from '../../../../agent/src/policy/local-rules/local-rules.ts'
import { createLocalApi } from '../../../../agent/src/local-api/local-api.ts'
import { listenOnSocket } from '../../../../agent/src/local-api/listen-on-socket.ts'
import { listPolicies } from '../../../../agent/src/local-api/list-policies.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleClaims, bundleOf, NOW_MS, policyOf } from '../../fixture/bundle.ts'
import { connectTo, openRaw, readUntil, startProxy, startTcpServer } from '../../fixture/proxy.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'
import { REFUSING_API } from '../../fixture/refusing-api.ts'

const HOST = { action: 'connect:tcp', host: 'ads.test', port: 443 }
const FILE = { action: 'read', path: '/data/x' }
const mine = policyOf(['deny', 'read', '/data/mine'])

/** The local rules of a machine whose organization allows `ads.test` and `/data/**`. */
async function startRules(directory?: string) {
  const agentDir = directory ?? (await temporaryDirectory())
  const file = denyFileOf(agentDir)
  const denies = await readDenies(file)
  const policy = activePolicy({ local: [mine, ...denyPolicies(denies)] })
  const files = { ...policyOf(['allow', 'read', '/data/**']), id: 'pol_2' }
  const names = policyOf(['allow', 'connect:tcp', 'ads.test'])
  policy.use(bundleClaims({ policies: [names, files] }))
  const rules = createLocalRules({
    file,
    denies,
    localPolicies: [mine],
    active: policy.active,
    clock: () => NOW_MS,
    uptime: () => performance.now(),
    log: { info: () => {}, warn: () => {} },
  })
  return { ...policy, ...rules, file, agentDir }
}

/** The same behind a socket, as the command line asks for it. */
async function startClient(from: Awaited<ReturnType<typeof startRules>>): Promise<AgentClient> {
  const server = createLocalApi({
    ...REFUSING_API,
    ...from,
    decide: async (value) => from.active.decide(value),
    decideUnresolved: (value) => from.active.decide(value),
    explain: async (value) => from.active.explain(value),
    policies: () => listPolicies(from.active),
    onError: () => {},
  })
  const socketPath = join(from.agentDir, 'agent.sock')
  await listenOnSocket(server, socketPath)
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return createAgentClient({ socketPath, timeoutMs: 60_000 })
}

describe('a local deny', () => {
  it('is in force and on disk when the agent answers, and ends when it is removed', async () => {
    const scene = await startRules()
    const agent = await startClient(scene)
    expect(scene.active.decide(HOST).decision).toBe('allow')

    const resource = 'ads.test'
    const added = await agent.addLocalDeny({ resource, actions: ['connect:tcp'], name: 'quiet' })

    expect(added).toMatchObject({ outcome: 'added', denies: [{ name: 'quiet', resource }] })
    expect(scene.active.decide(HOST)).toMatchObject({
      decision: 'deny',
      reason: 'rule',
      rules: [{ origin: 'local', rule_name: 'quiet', policy_name: 'palisade deny' }],
    })
    expect((await stat(scene.file)).mode & 0o777).toBe(0o600)
    expect(await readDenies(scene.file)).toEqual(added.denies)

    expect(await agent.removeLocalDenies({ resource })).toMatchObject({ outcome: 'removed' })
    expect(scene.active.decide(HOST).decision).toBe('allow')
    expect(await readDenies(scene.file)).toEqual([])
  })

  it('counts beside the file of the user and the rules of the organization', async () => {
    const { active, addDeny, removeDenies } = await startRules()

    await addDeny({ resource: '/data/x', actions: ['read', 'write'] })

    expect(active.decide(FILE).decision).toBe('deny')
    expect(active.decide({ ...FILE, path: '/data/mine' }).decision).toBe('deny')
    expect(active.decide({ ...FILE, path: '/data/y' }).decision).toBe('allow')
    await removeDenies({ resource: '/data/x' })
    expect(active.decide({ ...FILE, path: '/data/mine' }).decision).toBe('deny')
    expect(active.decide({ ...FILE, path: '/other' }).decision).toBe('deny')
  })

  it('survives a restart', async () => {
    const first = await startRules()
    await first.addDeny({ resource: 'ads.test', actions: ['connect:tcp'] })

    const { active, addDeny } = await startRules(first.agentDir)

    expect(active.decide(HOST).decision).toBe('deny')
    const again = await addDeny({ resource: 'ads.test', actions: ['connect:tcp'] })
    expect(again).toMatchObject({ outcome: 'unchanged', denies: [{ id: 'deny_1' }] })
    expect(await addDeny({ resource: 'b.test', actions: ['connect:tcp'] })).toMatchObject({
      denies: [{ id: 'deny_2' }],
    })
  })

  it('is checked in steps, so that decisions are made meanwhile', () => {
    const resource = (at: number): string => `/a${at}/**/${'b'.repeat(500)}*`
    const denies = Array.from({ length: 900 }, (_, at) => ({
      id: `deny_${at}`,
      name: 'x',
      actions: ['read' as const],
      resource: resource(at),
      created_at: new Date(NOW_MS).toISOString(),
    }))

    expect([...checkDenies(denies)].length).toBeGreaterThan(100)
  })

  it('survives a restart whatever its resource holds', async () => {
    const first = await startRules()
    // One of these letters is two in NFC, in which names are measured.
    const resources = [`/${'\u0958'.repeat(254)}`, `/${'\u{1f4c1}'.repeat(300)}`, '/a ']

    for (const resource of resources)
      expect((await first.addDeny({ resource, actions: ['read'] })).outcome).toBe('added')

    expect((await readDenies(first.file)).map(({ resource }) => resource)).toEqual(resources)
  })

  it('is in force in the next bundle too, also in one compiled before it', async () => {
    const { active, use, addDeny } = await startRules()
    const next = bundleOf(['allow', 'connect:tcp', 'ads.test'])
    const steps = active.compile({ ...next, revision: 8 }, 'server')
    await addDeny({ resource: 'ads.test', actions: ['connect:tcp'] })

    let step = steps.next()
    while (step.done !== true) step = steps.next()
    active.apply({ kind: 'verified', bundle: step.value })

    expect(active.decide(HOST)).toMatchObject({ decision: 'deny', revision: 8 })
    use({ ...next, revision: 9 })
    expect(active.decide(HOST)).toMatchObject({ decision: 'deny', revision: 9 })
  })

  it('is kept while there is no policy, and decides with the first one', async () => {
    const agentDir = await temporaryDirectory()
    const { active, use } = activePolicy()
    const log = { info: () => {}, warn: () => {} }
    const file = denyFileOf(agentDir)
    const deps = { file, denies: [], localPolicies: [], clock: () => NOW_MS, uptime: () => 0, log }
    const { addDeny } = createLocalRules({ ...deps, active })

    expect(await addDeny({ resource: 'ads.test', actions: ['connect:tcp'] })).toMatchObject({
      outcome: 'added',
    })
    expect(active.decide(HOST).reason).toBe('no_policy')
    use(bundleOf(['allow', 'connect:tcp', 'ads.test', 'b.test']))
    expect(active.decide(HOST)).toMatchObject({ decision: 'deny', reason: 'rule' })
    expect(active.decide({ ...HOST, host: 'b.test' }).decision).toBe('allow')
  })

  it('closes a tunnel that it denies, and leaves another one open', async () => {
    const scene = await startRules()
    const port = await startTcpServer((socket) => {
      socket.on('data', (chunk: Buffer) => socket.write(chunk))
    })
    const names = { 'ads.test': ['127.0.0.1'], 'b.test': ['127.0.0.1'] }
    const bundle = bundleOf(['allow', 'connect:tcp', 'ads.test', 'b.test', '127.0.0.1/32'])
    const proxy = await startProxy(bundle, names, 100, {}, scene)
    const [ads, other] = await Promise.all(
      ['ads.test', 'b.test'].map(async (host) => {
        const socket = await openRaw(proxy.port, connectTo(`${host}:${port}`))
        await readUntil(socket, '\r\n\r\n')
        return socket
      }),
    )
    // A half-open client sees the end of the tunnel, but does not close by itself.
    const closed = new Promise((resolve) => ads?.once('end', resolve).once('error', resolve))

    await scene.addDeny({ resource: 'ads.test', actions: ['connect:tcp'] })

    await closed
    other?.write('still here')
    expect(await readUntil(other!, 'still here')).toBe('still here')
  })
})

describe('a request for a local rule', () => {
  it.each([
    ['an allow', { resource: 'a.test', actions: ['connect:tcp'], decision: 'allow' }],
    ['no resource', { actions: ['connect:tcp'] }],
    ['a long resource', { resource: 'a'.repeat(5_000), actions: ['read'] }],
    ['a URL', { resource: 'https://a.test/', actions: ['connect:tcp'] }],
    ['a relative path', { resource: 'data', actions: ['read'] }],
    ['actions of two domains', { resource: 'a.test', actions: ['connect:tcp', 'read'] }],
    ['an unknown action', { resource: 'a.test', actions: ['execute'] }],
    ['a name with a line break', { resource: 'a.test', actions: ['connect:tcp'], name: 'a\nb' }],
    ['a text', 'a.test'],
    ['null', null],
  ])('is refused without a change: %s', async (_, request) => {
    const { active, addDeny, file } = await startRules()

    expect(await addDeny(request)).toMatchObject({
      outcome: 'failed',
      denies: [],
      error: { code: 'invalid_request' },
    })
    expect(active.local()).toEqual([mine])
    await expect(readFile(file)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('is refused beyond the limit, and once there is room again it is not', async () => {
    const agentDir = await temporaryDirectory()
    const denies = Array.from({ length: 1_000 }, (_, index) => ({
      id: `deny_${index}`,
      name: 'x',
      actions: ['read'],
      resource: `/data/${index}`,
      created_at: '2026-11-21T12:00:00.000Z',
    }))
    const content = JSON.stringify({ version: 1, denies })
    await writeFile(denyFileOf(agentDir), content, { mode: 0o600 })
    const { addDeny, removeDenies } = await startRules(agentDir)
    const add = () => addDeny({ resource: 'a.test', actions: ['connect:tcp'] })

    expect(await add()).toMatchObject({ outcome: 'failed', error: { code: 'limit_exceeded' } })
    await removeDenies({ resource: '/data/0' })
    expect(await add()).toMatchObject({ outcome: 'added' })
  })

  it('leaves all as it is when the file cannot be written', async () => {
    const { active, addDeny, agentDir } = await startRules()
    const away = join(agentDir, 'gone')
    const deps = { denies: [], localPolicies: [mine], clock: () => NOW_MS, uptime: () => 0 }
    const log = { info: () => {}, warn: () => {} }
    const broken = createLocalRules({ ...deps, active, log, file: join(away, 'local-rules.json') })

    expect(await broken.addDeny({ resource: 'ads.test', actions: ['connect:tcp'] })).toMatchObject({
      outcome: 'failed',
      error: { code: 'not_written' },
    })
    expect(active.decide(HOST).decision).toBe('allow')
    expect(await addDeny({ resource: 'ads.test', actions: ['connect:tcp'] })).toMatchObject({
      outcome: 'added',
    })
  })

  it('takes turns with others, so that no deny is lost', async () => {
    const { addDeny, file } = await startRules()

    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        addDeny({ resource: `h${n}.test`, actions: ['connect:tcp'] }),
      ),
    )

    const ids = (await readDenies(file)).map(({ id }) => id)
    expect(new Set(ids).size).toBe(20)
  })
})

describe('the file of the denies', () => {
  it.each([
    ['no JSON', 'deny'],
    ['cut off', '{"version":1,"denies":[{"id"'],
    ['empty', ''],
    ['of another version', '{"version":2,"denies":[]}'],
    ['without its list', '{"version":1}'],
    [
      'a rule that does not compile',
      JSON.stringify({
        version: 1,
        denies: [{ id: 'a', name: 'a', actions: ['read'], resource: 'x', created_at: '' }],
      }),
    ],
  ])('is refused with the mend when it is damaged: %s', async (_, content) => {
    const path = denyFileOf(await temporaryDirectory())
    await writeFile(path, content, { mode: 0o600 })

    await expect(readDenies(path)).rejects.toMatchObject({
      code: 'ERR_LOCAL_POLICIES_INVALID',
      isTransient: false,
      message: expect.stringMatching(/local-rules\.json: .*; mend it, or remove it/),
    })
  })

  it('is refused when other users can write it or its directory', async () => {
    const path = denyFileOf(await temporaryDirectory())
    await writeFile(path, '{"version":1,"denies":[]}', { mode: 0o600 })
    expect(await readDenies(path)).toEqual([])

    await chmod(path, 0o666)
    await expect(readDenies(path)).rejects.toMatchObject({ code: 'ERR_LOCAL_POLICIES_INVALID' })
    await chmod(path, 0o600)
    await chmod(dirname(path), 0o777)
    await expect(readDenies(path)).rejects.toMatchObject({ code: 'ERR_LOCAL_POLICIES_INVALID' })
  })
})
