import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { lockDirectory } from '../../../agent/src/host/config/lock-directory.ts'
import { startMachine } from './service-machine.ts'

describe('palisade-agent uninstall', () => {
  it('removes the agent’s part of the data with --purge, unless an agent runs', async () => {
    const { home, run } = await startMachine()
    const [data, other] = [join(home, 'data/agent'), join(home, 'data/server')]
    await mkdir(data, { recursive: true, mode: 0o700 })
    await mkdir(other)
    const purge = ['--user', '--data-dir', 'data', '--purge']

    const lock = await lockDirectory(data)
    await expect(run('uninstall', ...purge)).rejects.toMatchObject({ code: 'ERR_LOCKED' })
    lock.release()
    expect(await run('uninstall', ...purge)).toContain(`removed    ${data}\n`)

    expect([existsSync(data), existsSync(other)]).toEqual([false, true])
    expect(await run('uninstall', ...purge)).not.toContain('removed')
  })

  it('removes no unit when the data cannot be removed, because an agent runs', async () => {
    const { home, run, files } = await startMachine()
    await run('install', '--user')
    const data = join(home, '.local/share/palisade/agent')
    await mkdir(data, { recursive: true, mode: 0o700 })
    const lock = await lockDirectory(data)

    await expect(run('uninstall', '--user', '--purge')).rejects.toMatchObject({
      code: 'ERR_LOCKED',
    })
    expect(files.every(existsSync)).toBe(true)
    lock.release()
  })
})
