import { cp, mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { policyOf } from '../../../fixture/bundle.ts'
import { policies, setUp, type Scene } from '../../../fixture/sync-scene.ts'
import { createKeys, createRepository, serve } from '../../../fixture/view-repository.ts'
import { removeDirectory } from '../../../../remove-directory.ts'

export const changed = [
  policyOf(['allow', 'read', '/data/**', '/new/**'], ['deny', 'read', '/data/secret']),
  { ...policyOf(['allow', 'read', '/more/**']), id: 'pol_2' },
]
export const PATHS = ['/data/x', '/data/secret', '/new/x', '/more/x', '/etc/passwd']
export const NEW = 'allow deny allow allow deny'

export interface Point {
  /** Counted from 1. */
  readonly at: number
  readonly isHalf: boolean
}

export function allowed({ active }: Scene): string {
  return PATHS.map((path) => active.decide({ action: 'read', path }).decision).join(' ')
}

/** Copies the directory of a machine until the end of the test. */
export async function copyOf(directory: string): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'palisade-'))
  onTestFinished(() => removeDirectory(parent))
  const copied = join(parent, 'policy')
  await cp(directory, copied, { recursive: true })
  return copied
}

/** A machine whose directory can be copied before an update, and the files of the update. */
export async function beforeUpdate() {
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

export function pointsOf(steps: readonly string[]): readonly Point[] {
  return steps.flatMap((name, index): Point[] => {
    const at = index + 1
    const before = { at, isHalf: false }
    return name === 'handle.writeFile' ? [before, { at, isHalf: true }] : [before]
  })
}
