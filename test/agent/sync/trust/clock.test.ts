import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NOW_MS } from '../../fixture/bundle.ts'
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
import { createKeys } from '../../fixture/view-repository.ts'

const DAY_MS = 24 * HOUR_MS
const CHANGES = [
  ['two days', 2 * DAY_MS],
  ['five years', 5 * 365 * DAY_MS],
] as const

/** Advances the time, on a clock that was set wrong by `wrongMs`. */
function pass(scene: Scene, hours: number, wrongMs = 0): void {
  scene.surroundings.uptimeMs += hours * HOUR_MS
  scene.setClock(NOW_MS + scene.surroundings.uptimeMs + wrongMs)
}

/** The same machine after a restart, which resets its monotonic clock. */
function restart(scene: Scene, nowMs: number): Promise<Scene> {
  return setUp(scene.directory, scene.repository, nowMs)
}

/** A release that the server signs at the true time. */
const signedNow = (hours: number) => ({ atMs: NOW_MS + hours * HOUR_MS })

describe.each(CHANGES)('a clock that is set back by %s', (_what, backMs) => {
  it('does not keep a bundle in force for longer', async () => {
    const scene = await inForce()
    scene.setClock(NOW_MS - backMs)

    pass(scene, 24, -backMs)
    expect(scene.active.state()).toBe('stale')
    pass(scene, 144, -backMs)
    expect(scene.active.decide(request).reason).toBe('policy_expired')
  })

  it('does not admit a timestamp that has really expired', async () => {
    const scene = await inForce()
    pass(scene, 30, -backMs)

    const frozen = scene.repository.release({ policies: wide, atMs: NOW_MS + HOUR_MS })
    expect(await scene.sync(frozen)).toMatchObject({ error: { code: 'expired' } })
    expectKept(scene)
  })

  it('does not block files that the server signs', async () => {
    const scene = await inForce()
    for (const hours of [1, 2, 3]) {
      pass(scene, 1, -backMs)
      const served = scene.repository.release({
        policies,
        revision: 7 + hours,
        ...signedNow(hours),
      })
      expect(await scene.sync(served)).toMatchObject({ outcome: 'updated', error: null })
      expect(scene.active.state()).toBe('fresh')
    }
  })

  it('is not trusted after a restart either', async () => {
    const scene = await inForce()
    pass(scene, 25)
    await scene.synchronizer.keepTime()

    const restarted = await restart(scene, NOW_MS - backMs)

    expect(restarted.active.state()).toBe('stale')
    const frozen = scene.repository.release({ policies: wide, atMs: NOW_MS + HOUR_MS / 2 })
    expect(await restarted.sync(frozen)).toMatchObject({ error: { code: 'expired' } })
    const honest = scene.repository.release({ policies, ...signedNow(25) })
    expect(await restarted.sync(honest)).toMatchObject({ error: null })
    expect(restarted.active.state()).toBe('fresh')
  })
})

describe.each(CHANGES)('a clock that is set ahead by %s', (_what, aheadMs) => {
  it('locks no machine out once it is corrected', async () => {
    const scene = await inForce()
    pass(scene, 0, aheadMs)
    expect(['stale', 'expired']).toContain(scene.active.state())
    const served = scene.repository.release({ policies, revision: 8 })
    expect(await scene.sync(served)).toMatchObject({ error: { code: 'expired' } })
    await scene.synchronizer.keepTime()

    for (const mended of [scene, await restart(scene, NOW_MS)]) {
      mended.surroundings.uptimeMs = 0
      pass(mended, 1)
      expect(mended.active.state()).not.toBe('fresh')
      const honest = mended.repository.release({ policies, revision: 9, ...signedNow(1) })
      expect(await mended.sync(honest)).toMatchObject({ revision: 9, error: null })
      expect(mended.active.state()).toBe('fresh')
    }
  })
})

describe('the floor of the time', () => {
  it('is raised by the tolerance only once, even if a thief of the key signs often', async () => {
    const scene = await inForce()
    const accepted: number[] = []
    for (const minutes of [9, 18, 27, 36, 45]) {
      const served = scene.repository.release({ policies, atMs: NOW_MS + minutes * 60_000 })
      if ((await scene.sync(served)).error === null) accepted.push(minutes)
    }

    expect(accepted).toEqual([9])
    const honest = scene.repository.release({ policies, revision: 8, atMs: NOW_MS })
    expect(await scene.sync(honest)).toMatchObject({ outcome: 'updated', revision: 8 })
  })

  it('starts again after a change of keys in the root', async () => {
    const scene = await inForce()
    // A thief and a fast clock together.
    pass(scene, 0, 12 * HOUR_MS)
    await scene.sync(scene.repository.release({ policies, atMs: NOW_MS + 12 * HOUR_MS }))
    await scene.synchronizer.keepTime()
    pass(scene, 0)
    const honest = { policies, revision: 8, atMs: NOW_MS }
    expect(await scene.sync(scene.repository.release(honest))).toMatchObject({
      error: { code: 'older_issue' },
    })

    scene.repository.rotate({ ...createKeys(), root: scene.repository.keys.root })
    const served = scene.repository.release(honest)
    expect(await scene.sync(served)).toMatchObject({ outcome: 'updated', revision: 8 })

    const restarted = await restart(scene, NOW_MS)
    expect(await restarted.sync(served)).toMatchObject({ outcome: 'unchanged', error: null })
  })

  it('is that of the last issue when the kept time is damaged', async () => {
    const scene = await inForce()
    pass(scene, 25)
    await scene.synchronizer.keepTime()
    const file = join(scene.directory, 'time.json')
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replace('floor', 'flaor'), { mode: 0o600 })

    const restarted = await restart(scene, NOW_MS - 2 * DAY_MS)

    expect(restarted.active.state()).toBe('fresh')
    const old = scene.repository.release({ policies: wide, atMs: NOW_MS - 25 * HOUR_MS })
    expect(await restarted.sync(old)).toMatchObject({ error: { code: 'older_issue' } })
  })

  it('is not kept before a bundle is in force', async () => {
    const scene = await setUp()
    await scene.synchronizer.keepTime()
    scene.server.answer = (_request, response) => response.writeHead(500).end()
    await scene.synchronizer.run(never)

    await expect(readFile(join(scene.directory, 'time.json'))).rejects.toThrow('ENOENT')
  })
})

describe('after a clock that was ahead', () => {
  const askedFor = ({ server }: Scene): string | undefined => {
    const updates = server.requests.filter(({ url = '' }) => url.includes('/device/update'))
    const header = updates.at(-1)?.headers['palisade-issued-after']
    return Array.isArray(header) ? header[0] : header
  }

  it.each(CHANGES)(
    'of %s a newer timestamp is requested until it arrives',
    async (_what, aheadMs) => {
      const scene = await inForce()
      const issued = String(NOW_MS / 1000)
      pass(scene, 0, aheadMs)
      expect(scene.active.state()).not.toBe('fresh')
      // By this clock the server could not sign a better one.
      expect(scene.synchronizer.awaited()).toBeNull()
      await scene.synchronizer.keepTime()
      pass(scene, 0)

      for (const mended of [scene, await restart(scene, NOW_MS)]) {
        expect(mended.active.state()).not.toBe('fresh')
        expect(mended.synchronizer.awaited()).toEqual({
          reason: 'clock_was_ahead',
          afterMs: NOW_MS,
        })
        mended.server.requests.length = 0
        await mended.sync(mended.repository.release({ policies, version: 1 }))
        expect(askedFor(mended)).toBe(issued)
        expect(mended.active.state()).not.toBe('fresh')

        mended.surroundings.uptimeMs = 0
        pass(mended, 1)
        const newer = mended.repository.release({ policies, version: 2, ...signedNow(1) })
        expect(await mended.sync(newer)).toMatchObject({ error: null })
        expect(mended.active.state()).toBe('fresh')
        expect(mended.synchronizer.awaited()).toBeNull()
      }
    },
  )

  it('no timestamp is requested while the policies have their true age', async () => {
    const scene = await inForce()
    await scene.synchronizer.run(never, true)
    expect(askedFor(scene)).toBeUndefined()

    pass(scene, 30)
    expect(scene.active.state()).toBe('stale')
    expect(scene.synchronizer.awaited()).toBeNull()
    await scene.synchronizer.run(never, true)
    expect(askedFor(scene)).toBeUndefined()
  })
})
