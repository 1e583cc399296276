import { expect, it, onTestFinished } from 'vitest'
import { never, setUp } from '../../../fixture/sync-scene.ts'
import { temporaryDirectory } from '../../../fixture/temporary-directory.ts'
import { countWrites } from './count-writes.ts'
import { NEW, type Point, copyOf, beforeUpdate, pointsOf } from './update-scene.ts'

const OLD = 'allow allow deny deny deny'

/** Expects the old bundle up to some step, and the new one from there on. */
function expectOneTurn(left: readonly string[]): void {
  const turn = left.indexOf(NEW)
  expect(turn).toBeGreaterThan(0)
  expect(left).toEqual(left.map((_each, index) => (index < turn ? OLD : NEW)))
}

it('leaves the complete old or new bundle, wherever an update stops', async () => {
  const machine = await beforeUpdate()
  /** A stopped process must not touch its directory again. */
  const dead = new Set<string>()
  let walked = { directory: '', at: 0, isHalf: false, steps: [] as string[], onEnd: () => {} }
  const forever = new Promise<void>(() => {})
  const undo = await countWrites(await temporaryDirectory(), ({ name, path, halve }) => {
    const { directory, at, isHalf, steps, onEnd } = walked
    if ([...dead].some((each) => path.startsWith(each))) return forever
    if (!path.startsWith(directory)) return undefined
    steps.push(name)
    if (steps.length !== at) return undefined
    dead.add(directory)
    return (isHalf ? halve() : Promise.resolve()).then(onEnd).then(() => forever)
  })
  onTestFinished(undo)

  async function stopAt({ at, isHalf }: Point): Promise<readonly string[]> {
    const directory = await machine.copy()
    const updated = await setUp(directory, machine.scene.repository, machine.nowMs)
    updated.server.answer = machine.serve
    const steps: string[] = []
    await new Promise<void>((resolve) => {
      walked = { directory, at, isHalf, steps, onEnd: resolve }
      void updated.synchronizer.run(never).then(() => resolve())
    })
    walked = { directory: '/nowhere', at: 0, isHalf: false, steps: [], onEnd: () => {} }
    if (dead.has(directory)) {
      // The stopped one keeps its directory; the next machine gets an equal copy.
      const left = await copyOf(directory)
      found.push(await machine.enforcedAfter(left, at % 4 === 0))
    }
    return steps
  }

  const found: string[] = []
  const points = pointsOf(await stopAt({ at: 0, isHalf: false }))
  expect(points.length).toBeGreaterThan(30)
  for (const point of points) await stopAt(point)

  expect(found).toHaveLength(points.length)
  expectOneTurn(found)
})
