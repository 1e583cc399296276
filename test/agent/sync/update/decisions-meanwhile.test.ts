import { setImmediate as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { NOW_MS, policyOf, type RuleLine } from '../../fixture/bundle.ts'
import { packBundle } from '../../fixture/pack-bundle.ts'
import { HOUR_MS, inForce, never, policies, request, type Scene } from '../../fixture/sync-scene.ts'

const OTHER = { action: 'read', path: '/other/7/x' }

/** Takes hundreds of steps, and allows `OTHER` but not `request`. */
const large = [
  policyOf(
    ...Array.from({ length: 5_000 }, (_, at): RuleLine => ['allow', 'read', `/other/${at}/**`]),
  ),
]

/**
 * Each reading of the work is a second later, so that each turn has one step. The readings of
 * decisions are not: there are as many as the disk takes turns, and the bundle in force would
 * expire.
 */
function slowUptime(scene: Scene): void {
  Object.defineProperty(scene.surroundings, 'uptimeMs', { get: nextSecond })
}
let uptimeMs = 0
let isDeciding = false
const nextSecond = (): number => (isDeciding ? uptimeMs : (uptimeMs += 1_000))

const importLarge = (scene: Scene, signal: AbortSignal, revision = 8) =>
  scene.synchronizer.import(
    [packBundle(scene.repository.release({ policies: large, revision }))],
    signal,
  )

/** Decides in every turn of the loop until the work has ended. */
async function decideMeanwhile(scene: Scene, work: Promise<unknown>): Promise<string[]> {
  const seen: string[] = []
  const progress = { isOver: false }
  void work.finally(() => (progress.isOver = true)).catch(() => {})
  while (!progress.isOver) {
    isDeciding = true
    const [own, other] = [scene.active.decide(request), scene.active.decide(OTHER)]
    isDeciding = false
    seen.push(`${own.revision} ${own.decision} ${other.revision} ${other.decision}`)
    await pause()
  }
  return seen
}

describe('a large new policy', () => {
  it('leaves the bundle in force between its turns, until it is complete', async () => {
    const scene = await inForce()
    slowUptime(scene)

    const work = importLarge(scene, never)
    const seen = await decideMeanwhile(scene, work)

    expect(await work).toMatchObject({ outcome: 'updated', revision: 8 })
    expect(seen.filter((each) => each === '7 allow 7 deny').length).toBeGreaterThan(100)
    expect([...new Set(seen)].filter((each) => each !== '8 deny 8 allow')).toEqual([
      '7 allow 7 deny',
    ])
    expect(scene.active.decide(OTHER)).toMatchObject({ decision: 'allow', revision: 8 })
    expect(scene.active.decide(request)).toMatchObject({ decision: 'deny', revision: 8 })
  })

  it('is abandoned when the agent stops, and no part of it is kept', async () => {
    const scene = await inForce()
    slowUptime(scene)
    const stopping = new AbortController()
    const compile = scene.active.compile
    let steps = 0
    scene.active.compile = function* (...args) {
      const inner = compile(...args)
      for (let step = inner.next(); ; step = inner.next()) {
        if (step.done === true) return step.value
        steps += 1
        if (steps === 50) stopping.abort()
        yield
      }
    }

    const outcome = await importLarge(scene, stopping.signal)

    expect(outcome).toMatchObject({ outcome: 'failed', error: { code: 'stopping' } })
    expect(steps).toBe(50)
    expect(scene.active.decide(request)).toMatchObject({ decision: 'allow', revision: 7 })
    expect((await scene.synchronizer.restore())?.message).toBeUndefined()
    expect(scene.active.decide(request)).toMatchObject({ decision: 'allow', revision: 7 })
  })

  it('lets the bundle in force expire meanwhile', async () => {
    const scene = await inForce()
    slowUptime(scene)

    const work = importLarge(scene, never)
    await pause()
    scene.setClock(NOW_MS + 8 * 24 * HOUR_MS)

    expect(scene.active.decide(request)).toMatchObject({
      decision: 'deny',
      reason: 'policy_expired',
    })
    await work
    expect(scene.active.decide(OTHER)).toMatchObject({ decision: 'deny' })
  })

  it('protects an address that the machine gets meanwhile', async () => {
    const scene = await inForce()
    slowUptime(scene)
    const open = [policyOf(['allow', 'connect:tcp', '203.0.113.0/24'])]
    const body = packBundle(scene.repository.release({ policies: open, revision: 8 }))

    const work = scene.synchronizer.import([body], never)
    scene.surroundings.machineAddresses = ['203.0.113.7']
    await work

    const own = { action: 'connect:tcp', host: '203.0.113.7', port: 443 }
    expect(scene.active.decide(own)).toMatchObject({ reason: 'protected_address', revision: 8 })
    expect(scene.active.decide({ ...own, host: '203.0.113.8' }).decision).toBe('allow')
  })

  it('is followed by another one, which is then in force', async () => {
    const scene = await inForce()
    slowUptime(scene)
    await importLarge(scene, never)

    const result = await scene.sync(scene.repository.release({ policies, revision: 9 }))

    expect(result).toMatchObject({ outcome: 'updated', revision: 9 })
    expect(scene.active.decide(request)).toMatchObject({ decision: 'allow', revision: 9 })
  })
})
