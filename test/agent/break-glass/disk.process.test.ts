import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { NOW_MS } from '../fixture/bundle.ts'
import { fileOf, grantOf } from '../fixture/grant.ts'
import { canFillDisks, fillDisk, mountSmallDisk } from '../fixture/small-disk.ts'
import { HOUR_MS, inForce, request, setUp, type Scene } from '../fixture/sync-scene.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'
import { countWrites } from '../sync/state/crash/count-writes.ts'

const LATER_MS = NOW_MS + 8 * 24 * HOUR_MS
const SHUT = 'expired deny'
const LIFTED = 'break_glass allow'

const enforced = ({ active }: Scene) => `${active.state()} ${active.decide(request).decision}`
const grantFor = ({ repository }: Scene) =>
  fileOf(grantOf(repository.keys.targets, { atMs: LATER_MS }))
const begin = async (scene: Scene) =>
  (await scene.breakGlass.begin(grantFor(scene)))?.code ?? 'begun'

it.skipIf(!canFillDisks())(
  'a grant is begun or not begun, whichever write finds the disk full',
  async () => {
    const origin = await inForce()
    const disk = await mountSmallDisk()
    const [directory, ballast] = [join(disk, 'policy'), join(disk, 'ballast')]
    const start = () => setUp(directory, origin.repository, LATER_MS)
    const codes: string[] = []

    for (let pages = 0; codes.at(-1) !== 'begun'; pages += 1) {
      await cp(origin.directory, directory, { recursive: true })
      const scene = await start()
      fillDisk(ballast, pages)

      const code = await begin(scene)
      codes.push(code)
      const expected = code === 'begun' ? LIFTED : SHUT
      expect([enforced(scene), enforced(await start())]).toEqual([expected, expected])

      await rm(ballast)
      expect(await begin(scene)).toBe(code === 'begun' ? 'already_in_force' : 'begun')
      expect(enforced(await start())).toBe(LIFTED)
      await rm(directory, { recursive: true })
    }

    const failures = codes.slice(0, -1)
    expect(failures.length).toBeGreaterThan(1)
    expect(failures).toEqual(failures.map(() => 'not_kept'))
  },
)

it.skipIf(!canFillDisks())(
  'a grant is over at a start that cannot pay for more of it',
  async () => {
    const origin = await inForce()
    const disk = await mountSmallDisk()
    const directory = join(disk, 'policy')
    await cp(origin.directory, directory, { recursive: true })
    const scene = await setUp(directory, origin.repository, LATER_MS)
    expect(await begin(scene)).toBe('begun')
    fillDisk(join(disk, 'ballast'), 0)
    expect(enforced(scene)).toBe(LIFTED)

    const again = await setUp(directory, origin.repository, LATER_MS)

    expect(enforced(again)).toBe(SHUT)
    expect(again.breakGlass.inForce()).toBeNull()
    expect(again.lines).toContain('break-glass: the kept grant cannot be used; it is over')
  },
)

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

/** In memory if possible: a process that is killed loses no data that it wrote there. */
async function copyOf(directory: string): Promise<string> {
  const parent = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'palisade-'))
  onTestFinished(() => rm(parent, { recursive: true, force: true }))
  const copied = join(parent, 'policy')
  await cp(directory, copied, { recursive: true })
  return copied
}
