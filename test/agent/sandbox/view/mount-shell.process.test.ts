import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { chooseDialect } from '../../../../agent/src/sandbox/view/mount-dialect.ts'
import { openMountShell } from '../../../../agent/src/sandbox/view/mount-shell.ts'
import { onlyChildOf } from '../../fixture/running-view.ts'

const NAMESPACES = ['-Urnmpf', '--mount-proc', '--propagation', 'slave', '--kill-child', '--']
const FIRST_PID = 1

/** A shell in fresh namespaces, and the process that it was started as. */
async function startShell(arch: string) {
  const holder = spawn('unshare', [...NAMESPACES, 'cat'], { stdio: ['pipe', 'ignore', 'ignore'] })
  onTestFinished(() => void holder.kill('SIGKILL'))
  const holderPid = await onlyChildOf(holder.pid ?? 0, 'cat')
  let started: ChildProcess | null = null
  const spawnNoted = ((...words: Parameters<typeof spawn>) =>
    (started = spawn(...words))) as typeof spawn
  const dialect = chooseDialect({ arch, exists: existsSync })
  const shell = openMountShell({ spawn: spawnNoted, dialect, holderPid, childPid: FIRST_PID })
  if (started === null) throw new Error('no shell was started')
  return { shell, entered: started as ChildProcess, holderPid }
}

describe.each([
  ['perl', process.arch],
  ['a shell', 'unknown'],
])('the mount shell of %s', (_title, arch) => {
  it('leaves no process to the first one of the machine, which may not take it', async () => {
    const { shell, entered } = await startShell(arch)
    const ended = once(entered, 'exit')
    expect(await shell.limitEntries('/no/such/directory', 1)).toBe(false)
    shell.close()
    expect(shell.isAlive).toBe(false)
    expect(await ended).toEqual([0, null])
  })

  it('ends with its namespaces', async () => {
    const { shell, entered, holderPid } = await startShell(arch)
    expect(await shell.limitEntries('/no/such/directory', 1)).toBe(false)
    const ended = once(entered, 'exit')
    process.kill(holderPid, 'SIGKILL')
    await ended
    expect(shell.isAlive).toBe(false)
    const late = shell.limitEntries('/no/such/directory', 1)
    await expect(late).rejects.toThrow('the mount shell has ended')
  })
})
