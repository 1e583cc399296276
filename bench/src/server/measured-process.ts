import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { cpuUsOf, rssOf } from '../measure/process-counters.ts'
import { freePort } from './free-port.ts'

/** A server in its own process. The kernel counts its processor time and memory. */
export interface MeasuredProcess {
  readonly pid: number
  readonly port: number
  /** From the start of the process to the first answer with status 200. */
  readonly startMs: number
  /** Microseconds of processor time, user and system, of all threads so far. */
  cpuUs(): number
  /** Resident bytes, now and at their peak. */
  rss(): { readonly now: number; readonly peak: number }
  /** Whether the process is still running. */
  isRunning(): boolean
  stop(): Promise<void>
}

const START_TIMEOUT_MS = 60_000
const PAUSE_MS = 2

/**
 * Starts `node` with `args`. Passes the port to listen on, by default a free one, as
 * `PALISADE_PORT`.
 */
export async function startProcess(
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  readyPath: string,
  port?: number,
): Promise<MeasuredProcess> {
  return startOn(port ?? (await freePort()), args, settings, readyPath)
}

async function startOn(
  port: number,
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  readyPath: string,
): Promise<MeasuredProcess> {
  const started = performance.now()
  const child = spawn(process.execPath, [...args], {
    env: { ...settings, PALISADE_PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await waitUntilReady(child, port, readyPath)
  const startMs = performance.now() - started
  const { pid = 0 } = child
  return {
    pid,
    port,
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

async function waitUntilReady(child: ChildProcess, port: number, path: string): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS
  while ((await statusOf(port, path)) !== 200) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`)
    if (performance.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`the server did not answer within ${START_TIMEOUT_MS} ms`)
    }
    await setTimeout(PAUSE_MS)
  }
}

/** Returns null when the connection fails. */
function statusOf(port: number, path: string): Promise<number | null> {
  return new Promise((resolve) => {
    const asked = request({ port, path, host: '127.0.0.1', agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? null)
    })
    asked.on('error', () => resolve(null))
    asked.end()
  })
}
