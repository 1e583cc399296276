import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { holdLimits } from '../../../../agent/src/sandbox/limits/hold-limits.ts'
import { boundsOf } from '../../../../agent/src/sandbox/limits/sandbox-bounds.ts'
import {
  planCgroups,
  recoverCgroups,
} from '../../../../agent/src/sandbox/limits/sandbox-cgroups.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

const NO_BASES = { pids: null, memory: null }

function hold(asked: Parameters<typeof boundsOf>[0], uid: number, bases: typeof NO_BASES | object) {
  const written = new Map<string, string>()
  const directory = {
    write: async (name: string, text: string | Uint8Array) => void written.set(name, String(text)),
  }
  const held = holdLimits(
    { asked, bounds: boundsOf(asked) },
    { id: 'a1', directory },
    { bases: { ...NO_BASES, ...bases }, uid },
  )
  return { held, written }
}

describe('the limits of a sandbox', () => {
  it('are defaults unless asked for', () => {
    expect(boundsOf({ files: 9 })).toEqual({
      processes: 4_096,
      memoryBytes: null,
      processMemoryBytes: null,
      privateBytes: 2 ** 30,
      privateEntries: 2 ** 18,
      files: 9,
    })
  })

  it('are held by process for an ordinary user without control groups', async () => {
    const { held, written } = hold({ processes: 10 }, 1000, {})
    expect(await held).toMatchObject({ processes: 14, mustEnterCgroups: false })
    expect(written.size).toBe(0)
  })

  it('are refused for root without control groups, but only when asked for', async () => {
    await expect(hold({ processes: 10 }, 0, {}).held).rejects.toThrow('`processes`')
    await expect(hold({}, 0, {}).held).resolves.toMatchObject({ processes: 4_100 })
  })

  it('are refused for all memory without control groups', async () => {
    await expect(hold({ memory_bytes: 2 ** 20 }, 1000, {}).held).rejects.toThrow('`memory`')
  })

  it('are set in a group that is listed in the launch', async () => {
    const base = await temporaryDirectory()
    const bases = { pids: base, memory: base }
    const { held, written } = hold({ memory_bytes: 2 ** 20 }, 1000, bases)
    expect(await held).toMatchObject({ mustEnterCgroups: true })
    expect(written.get('cgroups')).toBe(`${join(base, 'palisade-a1')}\n`)
    expect(planCgroups(bases, 'a1', boundsOf({ memory_bytes: 2 ** 20 }))).toEqual([
      {
        path: join(base, 'palisade-a1'),
        settings: new Map([
          ['pids.max', '4100'],
          ['memory.max', '1048576'],
          ['memory.swap.max', '0'],
        ]),
      },
    ])
  })

  it('are refused when the group cannot be made', async () => {
    const bases = { memory: '/dev/null', pids: '/dev/null' }
    await expect(hold({ memory_bytes: 2 ** 20 }, 1000, bases).held).rejects.toThrow('ENOTDIR')
    await expect(hold({}, 1000, bases).held).resolves.toBeDefined()
  })

  it('leave no group of a killed agent, and no other directory', async () => {
    const folder = await temporaryDirectory()
    const [mine, other] = [join(folder, 'palisade-a1'), join(folder, 'other')]
    for (const path of [mine, other, join(folder, 'launches'), join(folder, 'launches/a1')])
      mkdirSync(path)
    writeFileSync(join(folder, 'launches/a1/cgroups'), `${mine}\n${other}\n/dev/null/palisade-x\n`)
    await recoverCgroups(join(folder, 'launches'))
    expect(existsSync(mine)).toBe(false)
    expect(existsSync(other)).toBe(true)
  })
})
