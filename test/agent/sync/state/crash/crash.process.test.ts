import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { casesOfRun } from '../../../../lanes/run-size.ts'
import type { Scene } from '../../../fixture/sync-scene.ts'
import { NEW, type Point, beforeUpdate, pointsOf } from './update-scene.ts'

const CHILD = fileURLToPath(new URL('update-once.ts', import.meta.url))
/** A process takes a second; `PALISADE_CASES=100` runs all of them. */
const FEW = 2

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
