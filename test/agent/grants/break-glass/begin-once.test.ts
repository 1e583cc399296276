import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { inForce, setUp } from '../../fixture/sync-scene.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'
import { countWrites } from '../../sync/state/crash/count-writes.ts'
import { copyOf } from '../../sync/state/crash/update-scene.ts'
import { LATER_MS, SHUT, LIFTED, enforced, grantFor, begin } from './expired-machine.ts'

it('a grant is begun once or not at all, wherever the agent is killed', async () => {
  const origin = await inForce()
  const dead = new Set<string>()
  let walked = { directory: '', at: 0, isHalf: false, steps: [] as string[], onEnd: () => {} }
  const forever = new Promise<void>(() => {})
  const undo = await countWrites(await temporaryDirectory(), ({ name, path, halve }) => {
    const { directory, at, isHalf, steps, onEnd } = walked
    // A killed process must not touch its directory again.
    if ([...dead].some((each) => path.startsWith(each))) return forever
    if (!path.startsWith(directory)) return undefined
    steps.push(name)
    if (steps.length !== at) return undefined
    dead.add(directory)
    return (isHalf ? halve() : Promise.resolve()).then(onEnd).then(() => forever)
  })
  onTestFinished(undo)

  async function killAt(at: number, isHalf: boolean): Promise<readonly string[]> {
    const directory = await copyOf(origin.directory)
    const scene = await setUp(directory, origin.repository, LATER_MS)
    const steps: string[] = []
    await new Promise<void>((resolve) => {
      walked = { directory, at, isHalf, steps, onEnd: resolve }
      void scene.breakGlass.begin(grantFor(scene)).then(() => resolve())
    })
    walked = { directory: '/nowhere', at: 0, isHalf: false, steps: [], onEnd: () => {} }
    const left = await setUp(await copyOf(directory), origin.repository, LATER_MS)
    const found = enforced(left)
    outcomes.push(found)
    expect(await begin(left)).toBe(found === LIFTED ? 'already_in_force' : 'begun')
    expect(enforced(left)).toBe(LIFTED)
    await left.breakGlass.end()
    const names = await readdir(left.directory)
    expect(names.filter((name) => name.includes('tmp-'))).toEqual([])
    for (const copy of ['state.json', 'state.previous.json']) {
      const alone = await copyOf(left.directory)
      await rm(join(alone, copy))
      expect(await begin(await setUp(alone, origin.repository, LATER_MS))).toBe('already_used')
    }
    return steps
  }

  const outcomes: string[] = []
  const steps = await killAt(0, false)
  expect(outcomes).toEqual([LIFTED])
  outcomes.length = 0
  for (const [index, name] of steps.entries()) {
    await killAt(index + 1, false)
    if (name === 'handle.writeFile') await killAt(index + 1, true)
  }

  expect(outcomes.length).toBeGreaterThan(15)
  const turn = outcomes.indexOf(LIFTED)
  expect(turn).toBeGreaterThan(0)
  expect(outcomes).toEqual(outcomes.map((_each, index) => (index < turn ? SHUT : LIFTED)))
})
