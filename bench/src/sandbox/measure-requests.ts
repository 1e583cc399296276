import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, copyFileSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { SANDBOX_PORTS } from '../../../agent/src/sandbox/holder/namespace-set-up.ts'
import { divide, rangeOf, type Range } from '../figures/range.ts'
import type { Rows } from '../figures/table.ts'
import { takeTurns } from '../figures/take-turns.ts'
import { runNode } from '../process/run-command.ts'
import { startScript } from '../process/start-script.ts'
import { LOAD, PARALLEL } from '../tunnels/measure-load.ts'
import { endOf, type SandboxMachine } from './sandbox-machine.ts'
import { LOOPBACK_NAME } from './workspaces.ts'

const TARGET = join(import.meta.dirname, '../tunnels/target.ts')

export interface RequestsOptions {
  readonly rounds: number
  /** Connections of one exchange each, and exchanges in kept connections, of one round. */
  readonly connections: number
  readonly requests: number
}

/** After the spare sandbox is made, so that the agent has no other work. */
const REST_MS = 1_000
const PLAIN = 'plain'

/** Microseconds of the agent's processor time for one exchange. */
export interface RequestsReading {
  readonly opened: number
  readonly kept: number
}

/**
 * Sends the same load from outside and from one sandbox, in alternation. `plain`: outside, through
 * the agent's proxy. `proxied`: inside, through the proxy that the variables name. `captured`:
 * inside, without a proxy, to an address that is looked up once; `looked up` looks it up for each
 * connection.
 */
export async function measureRequests(
  machine: SandboxMachine,
  { rounds, connections, requests }: RequestsOptions,
): Promise<Rows> {
  const target = await startScript(TARGET)
  const inside = await startInside(machine)
  try {
    const found = await inside.ask(`getent ahostsv4 ${LOOPBACK_NAME} | head -n 1`)
    const [synthetic = ''] = found.split(' ')
    const outside = (args: Arguments) => runNode([LOAD, ...args])
    const way =
      (run: (args: Arguments) => Promise<unknown>, proxy: number | 'none', host: string) =>
      async (): Promise<RequestsReading> => {
        const cpuUs = async (kind: string, count: number): Promise<number> => {
          const before = machine.agent.cpuUs()
          await run([kind, proxy, `${host}:${target.port}`, count, PARALLEL])
          return (machine.agent.cpuUs() - before) / count
        }
        return { opened: await cpuUs('new', connections), kept: await cpuUs('kept', requests) }
      }
    await setTimeout(REST_MS)
    const readings = await takeTurns(rounds, {
      [PLAIN]: way(outside, machine.proxyPort, '127.0.0.1'),
      proxied: way(inside.load, SANDBOX_PORTS.proxy, LOOPBACK_NAME),
      captured: way(inside.load, 'none', synthetic),
      'looked up': way(inside.load, 'none', LOOPBACK_NAME),
    })
    return describeRequests(readings)
  } finally {
    await inside.stop()
    await target.stop()
  }
}

type Arguments = readonly (string | number)[]

/** Divides by the plain proxy in the same round. */
export function describeRequests(
  readings: Readonly<Record<string, readonly RequestsReading[]>>,
): Rows {
  const usOf = (name: string, of: keyof RequestsReading): number[] =>
    (readings[name] ?? []).map((reading) => reading[of])
  const ratio = (name: string, of: keyof RequestsReading): Range =>
    rangeOf(divide(usOf(name, of), usOf(PLAIN, of)))
  return Object.fromEntries(
    Object.keys(readings).map((name) => [
      name,
      {
        'new connection, CPU us': rangeOf(usOf(name, 'opened')),
        'new connection, x plain': ratio(name, 'opened'),
        'request, CPU us': rangeOf(usOf(name, 'kept')),
        'request, x plain': ratio(name, 'kept'),
      },
    ]),
  )
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
    load: (args: Arguments) => ask(`'${process.execPath}' load.ts ${args.join(' ')}`),
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
