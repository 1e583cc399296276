import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { casesOfRun } from '../../../../lanes/run-size.ts'
import { policyOf } from '../../../fixture/bundle.ts'
import { never, policies, setUp, type Scene } from '../../../fixture/sync-scene.ts'
import { temporaryDirectory } from '../../../fixture/temporary-directory.ts'
import { countWrites } from './count-writes.ts'
import { createKeys, createRepository, serve } from '../../../fixture/view-repository.ts'

const CHILD = fileURLToPath(new URL('update-once.ts', import.meta.url))
/** A process takes a second; `PALISADE_CASES=100` runs all of them. */
const FEW = 2

const changed = [
  policyOf(['allow', 'read', '/data/**', '/new/**'], ['deny', 'read', '/data/secret']),
  { ...policyOf(['allow', 'read', '/more/**']), id: 'pol_2' },
]
const PATHS = ['/data/x', '/data/secret', '/new/x', '/more/x', '/etc/passwd']
const OLD = 'allow allow deny deny deny'
const NEW = 'allow deny allow allow deny'

interface Point {
  /** Counted from 1. */
  readonly at: number
  readonly isHalf: boolean
}

interface Ended {
  readonly signal: string | null
  readonly said: string
}

async function updateOnce(scene: Scene, directory: string, point: Point | null): Promise<Ended> {
  const enrolment = { ...scene.repository.enrolment, server: scene.server.url }
  const at = point === null ? [] : [String(point.at), ...(point.isHalf ? ['half'] : [])]
  const args = ['--conditions=palisade-source', CHILD, directory, JSON.stringify(enrolment), ...at]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', (text: Buffer) => (said += text.toString()))
  const [, signal]: (string | null)[] = await once(child, 'close')
  return { signal: signal ?? null, said }
}

function allowed({ active }: Scene): string {
  return PATHS.map((path) => active.decide({ action: 'read', path }).decision).join(' ')
}

/** In memory if possible: a process that is killed loses no data that it wrote there. */
async function copyOf(directory: string): Promise<string> {
  const parent = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'palisade-'))
  onTestFinished(() => rm(parent, { recursive: true, force: true }))
  const copied = join(parent, 'policy')
  await cp(directory, copied, { recursive: true })
  return copied
}

/** A machine whose directory can be copied before an update, and the files of the update. */
async function beforeUpdate() {
  const nowMs = Date.now()
  const repository = createRepository(undefined, { nowMs })
  const scene = await setUp(undefined, repository, nowMs)
  await scene.sync(repository.release({ policies, revision: 6 }))
  await scene.sync(repository.release({ policies, revision: 7 }))
  // With other keys, roots and time are kept too.
  repository.rotate({ ...createKeys(), root: repository.keys.root })
  const served = repository.release({ policies: changed, revision: 8 })
  scene.server.answer = serve(served)

  /**
   * Starts a machine on a left directory; returns its enforcement, then checks that it continues.
   */
  async function enforcedAfter(directory: string, goesOn = true): Promise<string> {
    const restarted = await setUp(directory, repository, nowMs)
    const left = allowed(restarted)
    const names = await readdir(directory, { recursive: true })
    expect(names.filter((name) => /tmp-|rejected/.test(name))).toEqual([])
    if (!goesOn) return left
    expect(await restarted.sync(served)).toMatchObject({ revision: 8, error: null })
    expect(allowed(restarted)).toBe(NEW)
    return left
  }
  return { scene, nowMs, copy: () => copyOf(scene.directory), enforcedAfter, serve: serve(served) }
}

function pointsOf(steps: readonly string[]): readonly Point[] {
  return steps.flatMap((name, index): Point[] => {
    const at = index + 1
    const before = { at, isHalf: false }
    return name === 'handle.writeFile' ? [before, { at, isHalf: true }] : [before]
  })
}

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

it('leaves the same when a real process is killed', async () => {
  const machine = await beforeUpdate()
  const directory = await machine.copy()
  const { said, signal } = await updateOnce(machine.scene, directory, null)
  expect(signal).toBeNull()
  expect(await machine.enforcedAfter(directory)).toBe(NEW)
  const points = pointsOf((JSON.parse(said) as { steps: string[] }).steps)
  const count = Math.min(points.length, casesOfRun(FEW))
  const chosen = points.filter((_point, index) => (index * count) % points.length < count)

  const found: string[] = []
  for (const point of chosen) {
    const directory = await machine.copy()
    const ended = await updateOnce(machine.scene, directory, point)
    expect(ended).toEqual({ signal: 'SIGKILL', said: '' })
    found.push(await machine.enforcedAfter(directory))
  }

  expect(found).toHaveLength(chosen.length)
  expect(found).toEqual(found.toSorted((a, b) => Number(a === NEW) - Number(b === NEW)))
})
