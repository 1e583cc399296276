import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { policyOf } from '../../fixture/bundle.ts'
import { canFillDisks, fillDisk, mountSmallDisk } from '../../fixture/small-disk.ts'
import { inForce, never, policies, setUp, type Scene } from '../../fixture/sync-scene.ts'
import { createKeys, serve } from '../../fixture/view-repository.ts'

const changed = [policyOf(['allow', 'read', '/new/**'], ['deny', 'read', '/data/**'])]

it.skipIf(!canFillDisks())(
  'keeps a complete bundle, whichever write finds the disk full',
  async () => {
    const origin = await inForce()
    const { repository } = origin
    await origin.sync(repository.release({ policies }))
    repository.rotate({ ...createKeys(), root: repository.keys.root })
    const served = repository.release({ policies: changed, revision: 8 })
    const disk = mountSmallDisk()
    const [directory, ballast] = [join(disk, 'policy'), join(disk, 'ballast')]
    const codes: string[] = []
    const revisions: unknown[] = []

    for (let pages = 0; codes.filter((code) => code === 'none').length < 2; pages += 1) {
      await cp(origin.directory, directory, { recursive: true })
      const scene = await setUp(directory, repository)
      scene.server.answer = serve(served)
      fillDisk(ballast, pages)

      codes.push((await scene.synchronizer.run(never)).error?.code ?? 'none')
      const before = [scene, await setUp(directory, repository)].map(enforced)
      await rm(ballast)
      await scene.synchronizer.run(never)
      const healed = [scene, await setUp(directory, repository)].map(enforced)
      revisions.push([...before, ...healed])
      await rm(directory, { recursive: true })
    }

    const failures = codes.indexOf('none')
    expect(failures).toBeGreaterThan(5)
    expect(codes.slice(0, failures)).toEqual(Array(failures).fill('cache_not_written'))
    // Never a partial bundle: the former one, also after a restart, and the new one once there is
    // space.
    const [former, next] = ['7 allow deny', '8 deny allow']
    expect(revisions.slice(0, failures)).toEqual(
      Array.from({ length: failures }, () => [former, former, next, next]),
    )
    expect(revisions.slice(failures).flat()).toEqual(Array.from({ length: 8 }, () => next))
  },
)

function enforced({ active }: Scene): string {
  const decided = ['/data/x', '/new/x'].map(
    (path) => active.decide({ action: 'read', path }).decision,
  )
  return [active.revision(), ...decided].join(' ')
}
