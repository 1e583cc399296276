import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, copyFileSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { startScript } from '../../agent/tunnels/contenders.ts'
import { SANDBOX_PORTS } from '../../../../agent/src/sandbox/holder/namespace-set-up.ts'
import { cpuUsOf } from '../../measure/process-counters.ts'
import { rangeOf, type Range } from '../../measure/range.ts'
import { endOf, type SandboxMachine } from '../sandbox-machine.ts'
import { LOOPBACK_NAME } from '../workspaces.ts'

export interface RequestsOptions {
  readonly rounds: number
  /** Connections of one exchange each, and exchanges in kept connections, of one round. */
  readonly connections: number
  readonly requests: number
}

/**
 * `plain`: outside, through the agent's proxy. `proxied`: inside, through the proxy that the
 * variables name. `captured`: inside, without a proxy, to an address that is looked up once;
 * `looked_up` looks it up for each connection.
 */
export const WAYS = ['plain', 'proxied', 'captured', 'looked_up'] as const
export type Way = (typeof WAYS)[number]

/** Microseconds of the agent's processor time for one exchange. */
export type RequestsRound = Readonly<
  Record<Way, { readonly opened: number; readonly kept: number }>
>

export interface WayFigures {
  readonly opened_cpu_us: Range
  readonly kept_cpu_us: Range
  /** Divided by those of the plain proxy in the same round. */
  readonly opened_ratio: Range
  readonly kept_ratio: Range
}

export interface RequestsResult {
  readonly ways: Readonly<Record<Way, WayFigures>>
  readonly rounds: number
}

const PARALLEL = 16
const LOAD = join(import.meta.dirname, '../../agent/tunnels/load.ts')
/** After the spare sandbox is made, so that the agent has no other work. */
const REST_MS = 1_000

/** Sends the same load from outside and from one sandbox, in alternation. */
export async function measureRequests(
  machine: SandboxMachine,
  { rounds, connections, requests }: RequestsOptions,
): Promise<RequestsResult> {
  const target = await startScript('target', 'target.ts')
  const inside = await startInside(machine)
  try {
    const found = await inside.ask(`getent ahostsv4 ${LOOPBACK_NAME} | head -n 1`)
    const [synthetic = ''] = found.split(' ')
    const ways: Readonly<Record<Way, (kind: string, count: number) => Promise<unknown>>> = {
      plain: (kind, count) =>
        loadOutside([kind, machine.proxyPort, `127.0.0.1:${target.port}`, count, PARALLEL]),
      proxied: (kind, count) =>
        inside.load([
          kind,
          SANDBOX_PORTS.proxy,
          `${LOOPBACK_NAME}:${target.port}`,
          count,
          PARALLEL,
        ]),
      captured: (kind, count) =>
        inside.load([kind, 'none', `${synthetic}:${target.port}`, count, PARALLEL]),
      looked_up: (kind, count) =>
        inside.load([kind, 'none', `${LOOPBACK_NAME}:${target.port}`, count, PARALLEL]),
    }
    const cpuUs = async (way: Way, kind: string, count: number): Promise<number> => {
      const before = cpuUsOf(machine.agent.pid)
      await ways[way](kind, count)
      return (cpuUsOf(machine.agent.pid) - before) / count
    }
    const measureWay = async (way: Way): Promise<{ opened: number; kept: number }> => ({
      opened: await cpuUs(way, 'new', connections),
      kept: await cpuUs(way, 'kept', requests),
    })
    await setTimeout(REST_MS)
    const all: RequestsRound[] = []
    // The first round warms up.
    for (let round = 0; round <= rounds; round += 1)
      all.push({
        plain: await measureWay('plain'),
        proxied: await measureWay('proxied'),
        captured: await measureWay('captured'),
        looked_up: await measureWay('looked_up'),
      })
    return summarizeRequests(all.slice(1))
  } finally {
    await inside.stop()
    await target.stop()
  }
}

export function summarizeRequests(rounds: readonly RequestsRound[]): RequestsResult {
  const figures = (way: Way): WayFigures => {
    const ratio = (kind: 'opened' | 'kept'): Range =>
      rangeOf(rounds.map((round) => round[way][kind] / round.plain[kind]))
    return {
      opened_cpu_us: rangeOf(rounds.map((round) => round[way].opened)),
      kept_cpu_us: rangeOf(rounds.map((round) => round[way].kept)),
      opened_ratio: ratio('opened'),
      kept_ratio: ratio('kept'),
    }
  }
  return {
    ways: {
      plain: figures('plain'),
      proxied: figures('proxied'),
      captured: figures('captured'),
      looked_up: figures('looked_up'),
    },
    rounds: rounds.length,
  }
}

async function loadOutside(args: readonly (string | number)[]): Promise<void> {
  const child = spawn(process.execPath, [LOAD, ...args.map(String)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await once(child, 'exit')
  if (child.exitCode !== 0) throw new Error(`the load \`${args.join(' ')}\` failed outside`)
}

/**
 * A shell in a sandbox, which runs one command after the other and answers with a line each. It
 * reads them from a FIFO of its workspace.
 */
async function startInside(machine: SandboxMachine) {
  const { requests: cwd } = machine.workspaces
  copyFileSync(LOAD, join(cwd, 'load.ts'))
  const fifo = join(cwd, 'commands')
  execFileSync('mkfifo', [fifo])
  // Open to read, too, so that it does not wait for the shell.
  const commands = openSync(fifo, constants.O_RDWR)
  const child = machine.start(['sh', '-c', SCRIPT], cwd, ['ignore', 'pipe', 'inherit'])
  const { stdout } = child
  if (stdout === null) throw new Error('the shell has no output')
  stdout.setEncoding('utf8')
  const ended = once(child, 'exit').then(() => null)
  const ask = async (command: string): Promise<string> => {
    writeSync(commands, `${command}\n`)
    let answer = ''
    while (!answer.endsWith('\n')) {
      const next = await Promise.race([once(stdout, 'data') as Promise<[string]>, ended])
      if (next === null) throw new Error(`\`${command}\` failed in the sandbox`)
      answer += next[0]
    }
    return answer.trimEnd()
  }
  await ask('echo ready')
  await machine.settled(1)
  return {
    ask,
    load: (args: readonly (string | number)[]) =>
      ask(`'${process.execPath}' load.ts ${args.join(' ')}`),
    async stop() {
      writeSync(commands, 'end\n')
      closeSync(commands)
      await endOf(child)
      await machine.settled()
    },
  }
}

const SCRIPT = `exec <commands
while read -r line && [ "$line" != end ]; do
  answer=$(eval "$line") || exit 1
  echo "$answer"
done`
