import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { NOW_MS } from '../../fixture/bundle.ts'
import { packBundle, type Served } from '../../fixture/pack-bundle.ts'
import { never, policies, setUp, wide, type Scene } from '../../fixture/sync-scene.ts'
import { createKeys, OTHER_VIEW, serve, VIEW, type Release } from '../../fixture/view-repository.ts'

const MINUTE_MS = 60_000
const SECRET = { action: 'read', path: '/etc/passwd' }
const STATES = ['state.json', 'state.previous.json']

/**
 * Assigned that many minutes after the start. Both views have the same versions, which therefore
 * decide no case.
 */
const assigned = (minutes: number, release: Release): Release => ({
  version: 1,
  atMs: NOW_MS,
  assignedAtMs: NOW_MS + minutes * MINUTE_MS,
  ...release,
})
const lax = (minutes: number): Release =>
  assigned(minutes, { view: OTHER_VIEW, policies: wide, revision: 8 })
const strict = (minutes: number): Release => assigned(minutes, { view: VIEW, policies })

const WAYS: readonly (readonly [string, (scene: Scene, served: Served) => Promise<unknown>])[] = [
  ['by the server', (scene, served) => scene.sync(served)],
  ['by a bundle file', (scene, served) => scene.synchronizer.import([packBundle(served)], never)],
]

/** A machine that was in the lax view, and in the strict one since `minutes`. */
async function movedAt(minutes: number): Promise<Scene> {
  const scene = await setUp()
  scene.setClock(NOW_MS + minutes * MINUTE_MS)
  expect(await scene.sync(scene.repository.release(lax(0)))).toMatchObject({ error: null })
  expect(scene.active.decide(SECRET).decision).toBe('allow')
  expect(await scene.sync(scene.repository.release(strict(minutes)))).toMatchObject({ error: null })
  expect(scene.active.decide(SECRET).decision).toBe('deny')
  return scene
}

describe.each(WAYS)('an older assignment that comes %s', (_way, offer) => {
  it.each([1, 5, 9, 11])(
    'does not restore a former view when it is %i minutes older',
    async (minutes) => {
      const scene = await movedAt(minutes)

      const outcome = await offer(scene, scene.repository.release(lax(0)))

      expect(outcome).toMatchObject({ outcome: 'failed', error: { code: 'older_issue' } })
      expect(scene.active.decide(SECRET).decision).toBe('deny')
    },
  )

  it('does not restore a former view when both are of the same second', async () => {
    const scene = await movedAt(1)

    const outcome = await offer(scene, scene.repository.release(lax(1)))

    expect(outcome).toMatchObject({ error: { code: 'older_issue' } })
    expect(scene.active.decide(SECRET).decision).toBe('deny')
  })

  it('does not restore a former view after ever older ones of the view in force', async () => {
    const scene = await movedAt(60)
    for (const [index, minutes] of [51, 42, 33, 24, 15, 6].entries())
      await offer(scene, scene.repository.release({ ...strict(minutes), version: 2 + index }))

    const outcome = await offer(scene, scene.repository.release(lax(3)))

    expect(outcome).toMatchObject({ error: { code: 'older_issue' } })
    expect(scene.active.decide(SECRET).decision).toBe('deny')
  })

  it('does not restore a former view after a restart', async () => {
    const before = await movedAt(9)
    const scene = await setUp(before.directory, before.repository, NOW_MS + 9 * MINUTE_MS)

    const outcome = await offer(scene, scene.repository.release(lax(0)))

    expect(outcome).toMatchObject({ error: { code: 'older_issue' } })
    expect(scene.active.decide(SECRET).decision).toBe('deny')
  })

  it('is accepted for the view in force while it is less than ten minutes older', async () => {
    const scene = await movedAt(20)

    const within = await offer(scene, scene.repository.release({ ...strict(11), version: 2 }))
    const beyond = await offer(scene, scene.repository.release({ ...strict(9), version: 3 }))

    expect(within).toMatchObject({ error: null })
    expect(beyond).toMatchObject({ error: { code: 'older_issue' } })
  })

  it('does not keep a machine from a former view that it is assigned to again', async () => {
    const scene = await movedAt(5)

    const outcome = await offer(scene, scene.repository.release(lax(6)))

    expect(outcome).toMatchObject({ outcome: 'updated', error: null })
    expect(scene.active.decide(SECRET).decision).toBe('allow')
  })
})

const SECONDS = NOW_MS / 1000
/** Signed by a server that counts the assignments of the machine. */
const versioned = (version: number, release: Release): Release => ({
  ...release,
  assignment: { version: SECONDS + version },
})

describe.each(WAYS)('the version of an assignment that comes %s', (_way, offer) => {
  /** In the strict view by version 5, after the lax one by version 1, half an hour later. */
  async function movedByVersion(): Promise<Scene> {
    const scene = await setUp()
    scene.setClock(NOW_MS + 30 * MINUTE_MS)
    for (const release of [versioned(1, lax(0)), versioned(5, strict(20))])
      expect(await scene.sync(scene.repository.release(release))).toMatchObject({ error: null })
    expect(scene.active.decide(SECRET).decision).toBe('deny')
    return scene
  }

  it.each([1, 4, 5])(
    'does not restore a former view by version %i, whatever its issue time',
    async (version) => {
      const before = await movedByVersion()
      const nowMs = NOW_MS + 30 * MINUTE_MS
      for (const scene of [before, await setUp(before.directory, before.repository, nowMs)]) {
        const outcome = await offer(scene, scene.repository.release(versioned(version, lax(35))))

        expect(outcome).toMatchObject({ outcome: 'failed', error: { code: 'older_issue' } })
        expect(scene.active.decide(SECRET).decision).toBe('deny')
      }
    },
  )

  it('moves the machine when it is higher, even if another clock dated it earlier', async () => {
    const scene = await movedByVersion()

    const outcome = await offer(scene, scene.repository.release(versioned(6, lax(16))))

    expect(outcome).toMatchObject({ outcome: 'updated', error: null })
    expect(scene.active.decide(SECRET).decision).toBe('allow')
  })

  it('does not matter for the view in force, and hides no later assignment', async () => {
    const scene = await movedByVersion()

    for (const [count, version] of [4, 7, 6].entries())
      expect(
        await offer(
          scene,
          scene.repository.release({ ...versioned(version, strict(20)), version: 2 + count }),
        ),
      ).toMatchObject({ error: null })

    expect(await offer(scene, scene.repository.release(versioned(7, lax(30))))).toMatchObject({
      error: { code: 'older_issue' },
    })
  })

  it('is required, even of the first assignment', async () => {
    const moved = await movedByVersion()
    for (const scene of [moved, await setUp()]) {
      const unversioned = { ...lax(35), isUnversioned: true }

      const outcome = await offer(scene, scene.repository.release(unversioned))

      expect(outcome).toMatchObject({ outcome: 'failed', error: { code: 'malformed' } })
      expect(scene.active.decide(SECRET).decision).toBe('deny')
    }
  })
})

it('a machine sends the server the version of its newest accepted assignment', async () => {
  const scene = await setUp()
  for (const release of [lax(0), versioned(3, strict(0)), versioned(2, strict(0)), strict(1)]) {
    scene.server.answer = serve(scene.repository.release(release))
    await scene.synchronizer.run(never, true)
  }

  const sent = scene.server.requests
    .filter(({ url = '' }) => url.includes('/device/update'))
    .map(({ headers }) => headers['palisade-assignment-version'])
  expect(sent).toEqual(['0', ...[0, 3, 3].map((version) => String(SECONDS + version))])
})

describe('the newest accepted assignment', () => {
  it('makes a state without it damaged, and everything is denied', async () => {
    const before = await movedAt(9)
    for (const name of STATES) await forgetAssignment(join(before.directory, name))

    const scene = await setUp(before.directory, before.repository, NOW_MS + 9 * MINUTE_MS)

    expect(scene.restored?.message).toContain('the kept state is damaged')
    expect(scene.active.state()).toBe('corrupt')
    expect(scene.active.decide(SECRET)).toMatchObject({ decision: 'deny', reason: 'no_policy' })
  })

  it.each(STATES)('counts when %s is replaced by an earlier copy', async (name) => {
    const first = await setUp()
    first.setClock(NOW_MS + 9 * MINUTE_MS)
    for (const release of [lax(0), strict(1), lax(2)])
      expect(await first.sync(first.repository.release(release))).toMatchObject({ error: null })
    const older = await readFile(join(first.directory, name))
    await first.sync(first.repository.release(strict(3)))
    await writeFile(join(first.directory, name), older, { mode: 0o600 })

    const scene = await setUp(first.directory, first.repository, NOW_MS + 9 * MINUTE_MS)

    expect(scene.active.decide(SECRET).decision).toBe('deny')
    expect(await scene.sync(scene.repository.release(lax(2)))).toMatchObject({
      error: { code: 'older_issue' },
    })
  })

  it('still counts after a change of the online key', async () => {
    const scene = await movedAt(9)
    const { keys } = scene.repository
    scene.repository.rotate({ ...createKeys(), root: keys.root, targets: keys.targets })

    const outcome = await scene.sync(scene.repository.release(lax(0)))

    expect(outcome).toMatchObject({ error: { code: 'older_issue' } })
    expect(scene.active.decide(SECRET).decision).toBe('deny')
  })

  it('blocks no assignment after a change of the targets key', async () => {
    const scene = await movedAt(9)
    scene.repository.rotate({ ...createKeys(), root: scene.repository.keys.root })

    const outcome = await scene.sync(scene.repository.release(lax(0)))

    expect(outcome).toMatchObject({ outcome: 'updated', error: null })
  })

  it('is not one that a thief of the targets key has dated in the future', async () => {
    const scene = await movedAt(1)
    expect(await scene.sync(scene.repository.release(lax(60)))).toMatchObject({
      error: { code: 'issued_in_future' },
    })

    expect(await scene.sync(scene.repository.release(lax(2)))).toMatchObject({ error: null })
  })
})

/** Removes the member and seals the state like the agent. */
async function forgetAssignment(file: string): Promise<void> {
  const { state } = JSON.parse(await readFile(file, 'utf8')) as { state: string }
  const { newest_assignment, ...rest } = JSON.parse(state) as Record<string, unknown>
  expect(newest_assignment).toBeDefined()
  const text = JSON.stringify(rest)
  const sum = createHash('sha256').update(text).digest('hex')
  await writeFile(file, JSON.stringify({ sum, state: text }), { mode: 0o600 })
}
