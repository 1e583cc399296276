import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { AGENT, bundleOf } from '../../../packages/launcher/programs.mjs'
import { cpuUsOf, rssOf } from '../measure/process-counters.ts'

const MAIN = join(import.meta.dirname, '../../..', bundleOf(AGENT))
const START_TIMEOUT_MS = 60_000
const PAUSE_MS = 1

/** An agent in its own process. The kernel counts its processor time and memory. */
export interface MeasuredAgent {
  readonly pid: number
  readonly socketPath: string
  /** From the start of the process to the first request allowed by a rule. */
  readonly startMs: number
  /** Microseconds of processor time until the same moment. */
  readonly startCpuUs: number
  /** Microseconds of processor time, user and system, of all threads so far. */
  cpuUs(): number
  /** Bytes. */
  rss(): number
  /** Fetches once and returns the outcome as the local API names it. */
  sync(): Promise<string>
  /** Returns `allow` or `deny`. */
  decide(wanted: object): Promise<string>
  stop(): Promise<void>
}

/** Starts an agent on `dataDir` and repeats the `wanted` request until a rule allows it. */
export async function startAgent(
  dataDir: string,
  wanted: object,
  settings: Readonly<Record<string, string>> = {},
): Promise<MeasuredAgent> {
  const socketPath = join(dataDir, 'agent', 'agent.sock')
  const started = performance.now()
  const child = spawn(process.execPath, [...AGENT.nodeOptions, MAIN, 'start'], {
    env: {
      PALISADE_DATA_DIR: dataDir,
      PALISADE_PROXY_PORT: '0',
      ...settings,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await waitUntilAllowed(child, socketPath, JSON.stringify(wanted))
  const { pid = 0 } = child
  const startMs = performance.now() - started
  return {
    pid,
    socketPath,
    startMs,
    startCpuUs: cpuUsOf(pid),
    cpuUs: () => cpuUsOf(pid),
    rss: () => rssOf(pid).now,
    async sync() {
      const answer = await ask(socketPath, '/v1/sync', '')
      return (JSON.parse(answer ?? '{}') as { outcome?: string }).outcome ?? 'no answer'
    },
    async decide(wanted) {
      const answer = await ask(socketPath, '/v1/decide', JSON.stringify(wanted))
      return (JSON.parse(answer ?? '{}') as { decision?: string }).decision ?? 'no answer'
    },
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function waitUntilAllowed(
  child: ChildProcess,
  socketPath: string,
  body: string,
): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS
  for (;;) {
    const answer = await ask(socketPath, '/v1/decide', body)
    if (answer !== null) {
      const { decision, reason } = JSON.parse(answer) as { decision?: string; reason?: string }
      if (decision === 'allow' && reason === 'rule') return
    }
    if (child.exitCode !== null) throw new Error(`the agent ended with ${child.exitCode}`)
    if (performance.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`no rule allowed the request within ${START_TIMEOUT_MS} ms`)
    }
    await setTimeout(PAUSE_MS)
  }
}

/** Returns null when the connection fails. */
function ask(socketPath: string, path: string, body: string): Promise<string | null> {
  return new Promise((resolve) => {
    const headers = { 'content-length': Buffer.byteLength(body) }
    const asked = request(
      { socketPath, path, method: 'POST', headers, agent: false },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        response.on('end', () => resolve(text))
      },
    )
    asked.on('error', () => resolve(null))
    asked.end(body)
  })
}
