import { chmod, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hoursFromNow, NOW_MS, policyOf } from '../../fixture/bundle.ts'
import {
  expectKept,
  HOUR_MS,
  inForce,
  never,
  policies,
  request,
  setUp,
  wide,
  type Scene,
} from '../../fixture/sync-scene.ts'
import { DEVICE_TOKEN, refuseKey } from '../../fixture/policy-server.ts'
import {
  createRepository,
  OTHER_VIEW,
  serve,
  VIEW,
  type Release,
} from '../../fixture/view-repository.ts'

describe('a sync', () => {
  it('brings a view into force and keeps it on disk', async () => {
    const { synchronizer, active, server, repository, directory } = await setUp()
    server.answer = serve(repository.release({ policies }))

    expect(await synchronizer.run(never)).toEqual({
      outcome: 'updated',
      revision: 7,
      error: null,
      retryAfterMs: null,
    })

    expect(active.decide(request).decision).toBe('allow')
    expect((await readdir(directory)).toSorted()).toEqual([
      'documents',
      'self-test',
      'state.json',
      'state.previous.json',
    ])
    for (const sent of server.requests)
      expect(sent.headers.authorization).toBe(`DPoP ${DEVICE_TOKEN}`)
  })

  it('sends one conditional request while nothing changes, and a full one once stale', async () => {
    const { server, synchronizer, setClock } = await inForce()
    const asked = (): (string | undefined)[] =>
      server.requests.splice(0).map((sent) => sent.headers['if-none-match'])
    asked()

    expect(await synchronizer.run(never)).toMatchObject({ outcome: 'unchanged', revision: 7 })
    expect(asked()).toEqual([expect.stringMatching(/^".{22}"$/)])

    setClock(NOW_MS + 25 * HOUR_MS)
    await synchronizer.run(never)
    expect(asked()[0]).toBeUndefined()
  })

  it('sends no unneeded header, because a fleet polls all day', async () => {
    const { server, synchronizer } = await inForce()
    server.requests.length = 0

    await synchronizer.run(never)

    const [poll] = server.requests
    const sent = ['accept-encoding', 'authorization', 'connection', 'host', 'if-none-match']
    expect(Object.keys(poll?.headers ?? {}).toSorted()).toEqual([
      ...sent,
      'palisade-assignment-version',
    ])
  })

  it('fetches only changed files', async () => {
    const { server, repository, sync, synchronizer } = await inForce()
    server.requests.length = 0
    const asked = (): string[] =>
      server.requests.map(({ url = '' }) => url.slice(url.lastIndexOf('/') + 1))
    const known = `update?root=1&view=${VIEW}&targets=`

    const other = { ...policyOf(['deny', 'read', '/data/secret']), id: 'pol_2' }
    const first = repository.release({ policies: [...policies, other], revision: 8 })
    await sync(first)
    expect(asked()).toEqual(['timestamp.json', `${known}1`])

    server.requests.length = 0
    server.answer = serve(first)
    await synchronizer.run(never, true)
    expect(asked()).toEqual([`${known}2`])
  })

  it('keeps its policy and fetches no single files when the server has no updates', async () => {
    const scene = await inForce()
    const { server, repository, synchronizer } = scene
    const others = serve(repository.release({ policies: [], revision: 9 }))
    server.requests.length = 0
    server.answer = (asked, response) => {
      if (asked.url?.includes('/device/update') === true) response.writeHead(404).end()
      else others(asked, response)
    }

    expect(await synchronizer.run(never, true)).toMatchObject({
      outcome: 'failed',
      error: { code: 'http_status', message: 'the server answered 404' },
    })

    expect(server.requests).toHaveLength(1)
    expectKept(scene)
  })

  it('does not hold a connection to the server until the next poll', async () => {
    const scene = await inForce()
    const { server, synchronizer } = scene
    server.requests.splice(0)

    await synchronizer.run(never)

    expect(server.requests.map(({ headers }) => headers.connection)).toEqual(['close'])
    const [{ socket }] = server.requests as [(typeof server.requests)[0]]
    await expect.poll(() => socket.destroyed).toBe(true)
  })

  it('renews freshness by an hourly timestamp, not by a 304', async () => {
    const { repository, sync, active, setClock, synchronizer } = await inForce()
    setClock(NOW_MS + 23 * HOUR_MS)
    await synchronizer.run(never)
    setClock(NOW_MS + 24 * HOUR_MS)
    expect(active.state()).toBe('stale')

    const atMs = NOW_MS + 24 * HOUR_MS
    expect(await sync(repository.release({ policies, atMs }))).toMatchObject({
      outcome: 'unchanged',
    })
    expect(active.state()).toBe('fresh')
  })

  it('does not recompile a policy that is signed again, but recompiles a changed one', async () => {
    const { repository, sync, active, setClock } = await inForce()
    const first = active.current()
    setClock(NOW_MS + HOUR_MS)

    await sync(repository.release({ policies, atMs: NOW_MS + HOUR_MS }))

    const renewed = active.current()
    expect(renewed?.compiled).toBe(first?.compiled)
    expect(renewed?.bundle.issued_at).toBe(hoursFromNow(1))
    expect(renewed?.bundle.expires_at).not.toBe(first?.bundle.expires_at)

    const other = { ...policyOf(['deny', 'read', '/data/x']), id: 'pol_2' }
    await sync(
      repository.release({ policies: [...policies, other], revision: 8, atMs: NOW_MS + HOUR_MS }),
    )

    expect(active.decide(request)).toMatchObject({ decision: 'deny', reason: 'rule', revision: 8 })
    expect(active.current()?.bundle.policies[0]).toBe(first?.bundle.policies[0])
  })

  it('follows its device into another view, and never back into a former release', async () => {
    const { repository, sync, active } = await inForce()
    const back = { policies, assignedAtMs: NOW_MS + 2000 }
    const former = repository.release({ ...back, version: 2 })
    const newer = repository.release({ ...back, version: 3 })
    await sync(repository.release({ policies, version: 3 }))

    const moved = await sync(
      repository.release({ view: OTHER_VIEW, revision: 8, assignedAtMs: NOW_MS + 1000 }),
    )
    expect(moved).toMatchObject({ outcome: 'updated', revision: 8 })
    expect(active.decide(request).decision).toBe('deny')

    expect(await sync(former)).toMatchObject({ error: { code: 'older_version' } })
    expect(active.decide(request).decision).toBe('deny')
    expect(await sync(newer)).toMatchObject({ outcome: 'updated', revision: 7 })
  })

  it('keeps the last good policy when the new one cannot be kept on disk', async () => {
    const scene = await inForce()
    await rm(join(scene.directory, 'documents'), { recursive: true })
    await writeFile(join(scene.directory, 'documents'), 'in the way')

    expect(
      await scene.sync(scene.repository.release({ policies: wide, revision: 8 })),
    ).toMatchObject({ outcome: 'failed', error: { code: 'cache_not_written' } })
    expectKept(scene)
  })

  it.skipIf(process.getuid?.() === 0)('says so when the disk is not writable', async () => {
    const scene = await inForce()
    await chmod(scene.directory, 0o500)
    onTestFinished(() => chmod(scene.directory, 0o700))

    expect(await scene.sync(scene.repository.release({ policies: wide }))).toMatchObject({
      error: { code: 'cache_not_written' },
    })
    expectKept(scene)
  })

  it('adopts the delay that a busy server asks for', async () => {
    const { server, synchronizer } = await setUp()
    server.answer = (_request, response) => response.writeHead(503, { 'retry-after': '120' }).end()

    expect(await synchronizer.run(never)).toMatchObject({
      error: { code: 'busy' },
      retryAfterMs: 120_000,
    })
  })

  const FIFTEEN_MINUTES_MS = 900_000
  it.each<[string, number | null]>([
    ['900', FIFTEEN_MINUTES_MS],
    ['901', FIFTEEN_MINUTES_MS],
    ['99999999999999999999', FIFTEEN_MINUTES_MS],
    ['Fri, 31 Dec 9999 23:59:59 GMT', FIFTEEN_MINUTES_MS],
    ['Sat, 21 Nov 2026 08:01:00 GMT', 60_000],
    ['Sat, 21 Nov 2026 07:00:00 GMT', null],
    ['-5', null],
    ['1e3', null],
    ['soon', null],
    ['', null],
  ])('bounds the delay that a server can ask for: `%s`', async (header, waitMs) => {
    const { server, synchronizer } = await setUp()
    const headers = { 'retry-after': header, date: 'Sat, 21 Nov 2026 08:00:00 GMT' }
    server.answer = (_request, response) => response.writeHead(503, headers).end()

    expect((await synchronizer.run(never)).retryAfterMs).toBe(waitMs)
  })

  it('reports an unreachable server and since when', async () => {
    const { server, synchronizer, setClock, repository, sync } = await setUp()
    server.answer = (_request, response) => response.writeHead(500).end()
    await synchronizer.run(never)
    setClock(NOW_MS + 60_000)
    await synchronizer.run(never)
    expect(synchronizer.record()).toMatchObject({
      failing_since: hoursFromNow(0),
      last_attempt_at: new Date(NOW_MS + 60_000).toISOString(),
      last_success_at: null,
      last_error: { code: 'http_status' },
    })

    await sync(repository.release())

    expect(synchronizer.record()).toMatchObject({ failing_since: null, last_error: null })
  })
})

describe('the state', () => {
  const status =
    (code: number): Scene['server']['answer'] =>
    (_request, response) =>
      response.writeHead(code).end()

  it('reports a refused view until the server offers a good one', async () => {
    const scene = await inForce()
    const { repository, sync, active } = scene
    const good = repository.release({ policies })

    await sync(repository.release({ policies: wide, org: 'rival' }))
    expect(active.state()).toBe('rejected')
    expectKept(scene)
    scene.server.answer = status(500)
    await scene.synchronizer.run(never)
    expect(active.state()).toBe('rejected')

    await sync(good)
    expect(active.state()).toBe('fresh')
  })

  it('reports a revocation, and keeps the bundle until it expires', async () => {
    const scene = await inForce()
    scene.server.answer = refuseKey
    expect((await scene.synchronizer.run(never)).error?.code).toBe('unauthorized')
    expect(scene.active.state()).toBe('fresh')
    // A token may be refused for many reasons, a key only for this one.
    scene.server.answerToken = refuseKey

    expect((await scene.synchronizer.run(never)).error?.code).toBe('revoked')

    expect(scene.active.state()).toBe('revoked')
    expectKept(scene)
    scene.setClock(NOW_MS + 8 * 24 * HOUR_MS)
    expect(scene.active.decide(request).reason).toBe('policy_expired')
    expect(scene.active.state()).toBe('revoked')
  })

  it('reports damaged files until there is a bundle again', async () => {
    const scene = await inForce()
    for (const name of ['state.json', 'state.previous.json'])
      await writeFile(join(scene.directory, name), 'garbage', { mode: 0o600 })

    const restarted = await setUp(scene.directory, scene.repository)
    expect(restarted.active.state()).toBe('corrupt')
    expect(restarted.active.decide(request).reason).toBe('no_policy')

    await restarted.sync(scene.repository.release({ policies }))
    expect(restarted.active.state()).toBe('fresh')
  })
})

describe('content that is unknown to this version', () => {
  const UNKNOWN: readonly [string, Release][] = [
    ['a later schema of documents', { custom: { schema: 2 } }],
    ['an action of a later version', { policies: [policyOf(['allow', 'later' as never, '/**'])] }],
    ['settings of a later version', { settings: { poll_seconds: -1 } }],
    [
      'a member of a policy',
      { policies: [{ ...policyOf(['allow', 'read', '/**']), later: 1 } as never] },
    ],
  ]

  it.each(UNKNOWN)('denies everything, also after a restart: %s', async (_what, release) => {
    const first = await inForce()

    expect(
      await first.sync(first.repository.release({ policies, revision: 8, ...release })),
    ).toMatchObject({ outcome: 'failed', error: { code: 'unsupported_policy' } })
    expect(first.active.decide(request).reason).toBe('unsupported_policy')

    const second = await setUp(first.directory, first.repository)
    expect(second.active.decide(request).reason).toBe('unsupported_policy')
  })

  it('does not deny when only the mode is unknown', async () => {
    const { repository, sync, active } = await setUp()

    await sync(repository.release({ policies, custom: { mode: 'later' } }))

    expect(active.decide(request).decision).toBe('allow')
    expect(active.decide({ action: 'read', path: '/etc/x' }).decision).toBe('deny')
  })
})

describe('a restart', () => {
  const stateOf = (directory: string) => join(directory, 'state.json')

  async function kept(releases = 1): Promise<Scene> {
    const scene = await inForce()
    for (let version = 2; version <= releases; version += 1)
      await scene.sync(scene.repository.release({ policies }))
    return scene
  }

  it('continues to decide offline', async () => {
    const { directory, repository } = await kept()

    const { active } = await setUp(directory, repository)

    expect(active.decide(request)).toMatchObject({ decision: 'allow', revision: 7 })
    expect(active.current()).toMatchObject({ source: 'cache' })
  })

  it('denies with an expired policy, and still refuses an older one', async () => {
    const { directory, repository } = await kept(3)
    const restarted = await setUp(directory, repository)
    restarted.setClock(NOW_MS + 8 * 24 * HOUR_MS)

    expect(restarted.active.decide(request).reason).toBe('policy_expired')
    const atMs = NOW_MS + 8 * 24 * HOUR_MS
    const old = repository.release({ policies: wide, version: 2, atMs })
    expect(await restarted.sync(old)).toMatchObject({ error: { code: 'older_version' } })
  })

  it.each([
    ['days', 2],
    ['years', 5 * 365],
  ])('does not trust a clock that was set back by %s', async (_unit, days) => {
    const scene = await kept()
    const served = scene.repository.release({ policies: wide, atMs: NOW_MS - 26 * HOUR_MS })
    const restarted = await setUp(scene.directory, scene.repository)
    restarted.setClock(NOW_MS - days * 24 * HOUR_MS)

    await restarted.sync(served)

    expectKept(restarted)
  })

  it('uses the other copy when one is damaged or missing, and reports it', async () => {
    const scene = await kept(3)
    await writeFile(stateOf(scene.directory), 'garbage', { mode: 0o600 })

    const restarted = await setUp(scene.directory, scene.repository)
    expectKept(restarted)
    const files = await readdir(scene.directory)
    expect(files.filter((name) => name.startsWith('state.json.rejected-'))).toHaveLength(1)

    const old = scene.repository.release({ policies: wide, version: 1 })
    expect(await restarted.sync(old)).toMatchObject({ error: { code: 'older_version' } })
  })

  it('finds a complete policy wherever an update was killed', async () => {
    const scene = await kept()
    const older = await readFile(stateOf(scene.directory), 'utf8')
    await scene.sync(scene.repository.release({ policies }))
    const newer = await readFile(stateOf(scene.directory), 'utf8')
    const torn = newer.slice(0, newer.length / 2)
    /**
     * Every state of the disk between two writes, in order; the last one is the complete update.
     */
    const steps: readonly Readonly<Record<string, string>>[] = [
      { 'documents/x.json.tmp-1': '{', 'state.json': older },
      { 'staging.tmp-1': '', 'state.json': older },
      { 'state.json': older, 'state.previous.json.tmp-1': older.slice(0, 9) },
      { 'state.json': older, 'state.previous.json': older },
      { 'state.json': older, 'state.previous.json': older, 'state.json.tmp-1': torn },
      { 'state.json': newer, 'state.previous.json': older },
    ]

    for (const files of steps) {
      for (const name of ['state.json', 'state.previous.json'])
        await rm(join(scene.directory, name), { force: true })
      for (const [name, text] of Object.entries(files))
        await writeFile(join(scene.directory, name), text, { mode: 0o600 })

      const restarted = await setUp(scene.directory, scene.repository)

      expectKept(restarted)
      const left = await readdir(scene.directory, { recursive: true })
      expect(left.filter((name) => /tmp-|rejected/.test(name))).toEqual([])
      expect(await restarted.sync(scene.repository.release({ policies }))).toMatchObject({
        error: null,
      })
    }
  })

  it.each(['state.json', 'state.previous.json'])('works without %s', async (name) => {
    const scene = await kept(3)
    await rm(join(scene.directory, name))

    const restarted = await setUp(scene.directory, scene.repository)
    expectKept(restarted)

    const old = scene.repository.release({ policies: wide, version: 1 })
    expect(await restarted.sync(old)).toMatchObject({ error: { code: 'older_version' } })
    const newer = scene.repository.release({ policies, version: 9, revision: 8 })
    expect(await restarted.sync(newer)).toMatchObject({ revision: 8, error: null })
  })

  it('continues when its directory is deleted meanwhile, and writes all files again', async () => {
    const scene = await kept(2)
    await rm(scene.directory, { recursive: true })

    expectKept(scene)
    await scene.synchronizer.run(never)
    expectKept(scene)
    const newer = scene.repository.release({ policies, revision: 8 })
    expect(await scene.sync(newer)).toMatchObject({ revision: 8, error: null })

    const restarted = await setUp(scene.directory, scene.repository)
    expect(restarted.active.revision()).toBe(8)
  })

  it('denies everything after its directory was deleted', async () => {
    const scene = await kept(2)
    await rm(scene.directory, { recursive: true })

    const restarted = await setUp(scene.directory, scene.repository)

    expect(restarted.active.state()).toBe('never_loaded')
    expect(restarted.active.decide(request).reason).toBe('no_policy')
  })

  it('denies everything when both copies are missing, until the server has answered', async () => {
    const scene = await kept(3)
    for (const name of ['state.json', 'state.previous.json']) await rm(join(scene.directory, name))

    const restarted = await setUp(scene.directory, scene.repository)
    expect(restarted.active.decide(request).reason).toBe('no_policy')
    await restarted.sync(scene.repository.release({ policies }))
    expectKept(restarted)
  })

  it('sets a changed policy aside and denies until the next good one', async () => {
    const { directory, repository } = await kept()
    const documents = join(directory, 'documents')
    const [name = ''] = await readdir(documents)
    const text = await readFile(join(documents, name), 'utf8')
    await writeFile(join(documents, name), text.replace('/data/', '/'), { mode: 0o600 })

    const restarted = await setUp(directory, repository)

    expect(restarted.active.decide(request).reason).toBe('no_policy')
    expect((await readdir(documents))[0]).toContain(`${name}.rejected-2026`)
    await restarted.sync(repository.release({ policies }))
    expectKept(restarted)
  })

  it('keeps many policies, and sets any damaged one aside', async () => {
    const many = Array.from({ length: 40 }, (_, index) => {
      const folder = index === 0 ? '/data/**' : `/elsewhere/${index}/**`
      return { ...policyOf(['allow', 'read', folder]), id: `pol_${index}` }
    })
    const { directory, repository, sync } = await setUp()
    await sync(repository.release({ policies: many }))
    const documents = join(directory, 'documents')
    const complete = await setUp(directory, repository)
    expectKept(complete)
    expect(complete.active.decide({ action: 'read', path: '/elsewhere/39/x' }).decision).toBe(
      'allow',
    )

    for (const name of await readdir(documents)) {
      const path = join(documents, name)
      const text = await readFile(path, 'utf8')
      if (!text.includes('/elsewhere/39/')) continue
      await writeFile(path, text.replace('/elsewhere/39/', '/elsewhere/'), { mode: 0o600 })
    }
    const damaged = await setUp(directory, repository)

    expect(damaged.active.decide(request).reason).toBe('no_policy')
    const aside = (await readdir(documents)).filter((name) => name.includes('.rejected-'))
    expect(aside).toHaveLength(1)
    expect(await readFile(join(documents, aside[0] ?? ''), 'utf8')).toContain('"id":"pol_39"')
  })

  it('does not accept files from the disk with other signatures', async () => {
    const [own, foreign] = [await kept(), createRepository()]
    const rival = await setUp(undefined, foreign)
    await rival.sync(foreign.release({ policies: wide }))
    await cp(rival.directory, own.directory, { recursive: true })

    const restarted = await setUp(own.directory, own.repository)

    expect(restarted.active.decide(request).reason).toBe('no_policy')
  })
})
