import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createRunDirectory, removeRun } from './run-directory.ts'

const SLEEP = ['-e', 'setTimeout(() => {}, 60_000)']

/** A process of its own group, which no signal to the run reaches. */
function start(args: readonly string[], env: NodeJS.ProcessEnv, cwd = '/'): ChildProcess {
  const child = spawn(process.execPath, args, { env, cwd, detached: true, stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

it('a run leaves no process, no mount and no directory', async () => {
  const directory = createRunDirectory()
  const inside = join(directory, 'inside')
  mkdirSync(inside)
  if (process.getuid?.() === 0) execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', inside])
  const left = [
    start(SLEEP, { TMPDIR: directory }),
    start([...SLEEP, join(directory, 'file')], {}),
    start(SLEEP, {}, directory),
  ]
  const other = start(SLEEP, {})
  await Promise.all([...left, other].map((child) => once(child, 'spawn')))
  const ended = left.map((child) => once(child, 'exit'))

  removeRun(directory)

  for (const end of ended) expect(await end).toEqual([null, 'SIGKILL'])
  expect(existsSync(directory)).toBe(false)
  expect(other.exitCode ?? other.signalCode).toBe(null)
})

it('every user may use the directory of a run, and remove only own files', () => {
  const directory = createRunDirectory()
  onTestFinished(() => removeRun(directory))

  expect(statSync(directory).mode & 0o7777).toBe(0o1777)
})
