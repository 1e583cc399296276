import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { bundleOf, CLI } from '../../../packages/launcher/programs.mjs'
import { startAgent, type MeasuredAgent } from '../machine/agent-process.ts'
import { ALLOWED, type Machine } from '../machine/machine.ts'
import { treeOf } from '../process/process-tree.ts'
import { freePort } from '../process/free-port.ts'
import { makeWorkspaces, type Workspaces } from './workspaces.ts'

/** A resident agent with the rules of the workspaces. */
export interface SandboxMachine {
  readonly agent: MeasuredAgent
  /** Directory of the agent. */
  readonly agentDir: string
  readonly proxyPort: number
  /** The environment of a client. */
  readonly env: Readonly<Record<string, string>>
  readonly workspaces: Workspaces
  /** Starts `palisade run -- WORDS`. */
  start(words: readonly string[], cwd: string, stdio?: StdioOptions): ChildProcess
  /** Resolves once so many sandboxes are left, 0 by default, and the spare one is ready. */
  settled(running?: number): Promise<void>
}

const MAIN = join(import.meta.dirname, '../../..', bundleOf(CLI))
/** The arguments of Node for `palisade`. */
export const PALISADE = [...CLI.nodeOptions, MAIN]

/** The processes of the agent for each holder; one that still starts is not yet `cat`. */
const OF_HOLDER = ['unshare', 'cat']
const SETTLE_TIMEOUT_MS = 60_000
const PAUSE_MS = 20
/** The processes of a sandbox that ends look like those of the spare one. */
const END_MS = 1_000
/** The agent tries a sandbox of its own after that time. */
const PROBE_AFTER_MS = 11_000

/** Starts the agent, and stops it after the work. */
export async function withSandboxMachine<T>(
  enrolled: Machine,
  folder: string,
  work: (machine: SandboxMachine) => Promise<T>,
): Promise<T> {
  const workspaces = await makeWorkspaces(enrolled, folder)
  const dataDir = enrolled.copy('sandbox')
  const proxyPort = await freePort()
  const agent = await startAgent(dataDir, ALLOWED, {
    PALISADE_PROXY_PORT: String(proxyPort),
    PATH: process.env['PATH'] ?? '',
  })
  const env = environmentOf(dataDir)
  const start: SandboxMachine['start'] = (words, cwd, stdio = 'ignore') =>
    spawn(process.execPath, [...PALISADE, 'run', '--', ...words], { cwd, env, stdio })
  const settled = (running = 0): Promise<void> => settle(agent.pid, running)
  try {
    await agent.sync()
    await setTimeout(PROBE_AFTER_MS)
    await endOf(start(['true'], workspaces.empty, ['ignore', 'ignore', 'inherit']))
    await settled()
    const agentDir = join(dataDir, 'agent')
    return await work({ agent, agentDir, proxyPort, env, workspaces, start, settled })
  } finally {
    await agent.stop()
  }
}

function environmentOf(dataDir: string): Record<string, string> {
  return { PALISADE_DATA_DIR: dataDir, PATH: process.env['PATH'] ?? '', HOME: homedir() }
}

async function settle(agentPid: number, running: number): Promise<void> {
  const deadline = performance.now() + SETTLE_TIMEOUT_MS
  await setTimeout(END_MS)
  for (;;) {
    const names = treeOf(agentPid)
      .map(({ name }) => name)
      .slice(1)
    if (isSettled(names, running)) return
    if (performance.now() > deadline)
      throw new Error(`the agent has no spare sandbox, but ${names.join(', ')}`)
    await setTimeout(PAUSE_MS)
  }
}

/** Whether the processes of an agent are those of the running sandboxes and of the spare one. */
export function isSettled(names: readonly string[], running: number): boolean {
  const holders = running + 1
  const isComplete = OF_HOLDER.every(
    (wanted) => names.filter((name) => name === wanted).length === holders,
  )
  // A running sandbox also has a shell that mounts.
  return isComplete && (running > 0 || names.length === OF_HOLDER.length)
}

/** Waits for the end of a command that must succeed. */
export async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  if (child.exitCode !== 0)
    throw new Error(`\`${child.spawnargs.join(' ')}\` ended with ${child.exitCode}`)
}

/** Starts a command that prints a line first, and resolves then. */
export async function startAndAwaitLine(
  machine: SandboxMachine,
  words: readonly string[],
  cwd: string,
): Promise<ChildProcess> {
  const child = machine.start(words, cwd, ['ignore', 'pipe', 'inherit'])
  if (child.stdout === null) throw new Error('the command has no output')
  await Promise.race([once(child.stdout, 'data'), endEarly(child)])
  return child
}

async function endEarly(child: ChildProcess): Promise<never> {
  await once(child, 'exit')
  throw new Error(`\`${child.spawnargs.join(' ')}\` ended with ${child.exitCode}`)
}

/** Ends a command by the signal that the supervising shell passes on. */
export async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
