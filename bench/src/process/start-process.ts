import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { cpuUsOf, rssOf } from './process-counters.ts'

/** A program that runs until it is stopped. The kernel counts its processor time and memory. */
export interface MeasuredProcess {
  readonly pid: number
  /** From the start of the process until it was ready. */
  readonly startMs: number
  /** Microseconds of processor time, user and system, of all threads so far. */
  cpuUs(): number
  /** Resident bytes, now and at their peak. */
  rss(): { readonly now: number; readonly peak: number }
  isRunning(): boolean
  stop(): Promise<void>
}

const START_TIMEOUT_MS = 60_000
const PAUSE_MS = 2

/** Starts a program and asks it `isReady` until it is. */
export async function startProcess(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  isReady: () => Promise<boolean>,
): Promise<MeasuredProcess> {
  const started = performance.now()
  const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  // An error, such as a missing program, ends the wait below.
  child.on('error', () => undefined)
  await waitUntil(child, isReady)
  const startMs = performance.now() - started
  const { pid = 0 } = child
  return {
    pid,
    startMs,
    cpuUs: () => cpuUsOf(pid),
    rss: () => rssOf(pid),
    isRunning: () => child.exitCode === null && child.signalCode === null,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function waitUntil(child: ChildProcess, isReady: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS
  while (!(await isReady())) {
    const name = child.spawnargs.join(' ')
    if (child.pid === undefined) throw new Error(`\`${name}\` cannot be started`)
    if (child.exitCode !== null) throw new Error(`\`${name}\` ended with ${child.exitCode}`)
    if (performance.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`\`${name}\` was not ready within ${START_TIMEOUT_MS} ms`)
    }
    await setTimeout(PAUSE_MS)
  }
}
