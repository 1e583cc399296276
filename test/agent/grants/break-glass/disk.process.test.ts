import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { canFillDisks, fillDisk, mountSmallDisk } from '../../fixture/small-disk.ts'
import { inForce, setUp } from '../../fixture/sync-scene.ts'
import { LATER_MS, SHUT, LIFTED, enforced, begin } from './expired-machine.ts'

it.skipIf(!canFillDisks())(
  'a grant is begun or not begun, whichever write finds the disk full',
  async () => {
    const origin = await inForce()
    const disk = mountSmallDisk()
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
    const disk = mountSmallDisk()
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
