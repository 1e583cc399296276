import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { expect, onTestFinished } from 'vitest'
import { BUILT_SERVER } from '../built-programs.ts'

export interface Outcome {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunningServer {
  readonly url: string
  readonly pid: number
  /** Sends the signal and waits for the end. */
  stop(signal: NodeJS.Signals): Promise<Outcome>
}

type Settings = Readonly<Record<string, string>>

/** Disables overload protection: the load of the machine must not affect a test. */
const UNLIMITED = { PALISADE_OVERLOAD_DELAY_MS: '0' }

/** Runs one command of the built `palisade-server` to its end. */
export async function runServerCommand(
  args: readonly string[],
  settings: Settings,
): Promise<Outcome> {
  return collect(spawnServer(args, settings))
}

/** Like `runServerCommand`, with a standard output that is already closed. */
export async function runServerCommandUnread(
  args: readonly string[],
  settings: Settings,
): Promise<Outcome> {
  const child = spawnServer(args, settings)
  child.stdout.destroy()
  return collect(child)
}

/** Starts the built server on a free port and waits until it listens. */
export async function startServerProcess(
  settings: Settings,
  options: readonly string[] = [],
): Promise<RunningServer> {
  const child = spawnServer(['start', ...options], { PALISADE_PORT: '0', ...settings })
  const outcome = collect(child)
  const url = await Promise.race([
    readUrl(child),
    outcome.then(({ stderr }) => Promise.reject(new Error(`the server ended: ${stderr}`))),
  ])
  return {
    url,
    pid: pidOf(child),
    stop(signal) {
      child.kill(signal)
      return outcome
    },
  }
}

/** Starts the built server with a full standard output, and waits until it serves. */
export async function startServerWithFullLog(
  port: number,
  settings: Settings,
): Promise<RunningServer> {
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [...BUILT_SERVER, 'start'], {
    env: { PATH: process.env['PATH'], ...UNLIMITED, PALISADE_PORT: String(port), ...settings },
    stdio: ['ignore', full, 'pipe'],
  })
  closeSync(full)
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  let stderr = ''
  child.stderr?.on('data', (chunk) => (stderr += String(chunk)))
  const url = `http://127.0.0.1:${port}`
  await expect.poll(() => isReady(url), { timeout: 300_000 }).toBe(true)
  return {
    url,
    pid: pidOf(child),
    async stop(signal) {
      child.kill(signal)
      await once(child, 'close')
      return { status: child.exitCode, stdout: '', stderr }
    },
  }
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the server cannot be started')
  return child.pid
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`)).ok
  } catch {
    return false
  }
}

function spawnServer(args: readonly string[], settings: Settings): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [...BUILT_SERVER, ...args], {
    env: { PATH: process.env['PATH'], ...UNLIMITED, ...settings },
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return child
}

async function collect(child: ChildProcessWithoutNullStreams): Promise<Outcome> {
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => (stdout += String(chunk)))
  child.stderr.on('data', (chunk) => (stderr += String(chunk)))
  await once(child, 'close')
  return { status: child.exitCode, stdout, stderr }
}

/** Reads the `url` of the log line of a listening server. */
function readUrl(child: ChildProcessWithoutNullStreams): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += String(chunk)
      const line = text
        .split('\n')
        .find((entry) => entry.includes('palisade-server listening') && entry.endsWith('}'))
      if (line !== undefined) resolve((JSON.parse(line) as { url: string }).url)
    })
  })
}
