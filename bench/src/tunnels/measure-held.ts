import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { single } from '../figures/range.ts'
import type { Rows } from '../figures/table.ts'
import type { MeasuredAgent } from '../machine/agent-process.ts'
import type { LoopbackRule } from '../machine/loopback-rule.ts'
import { LOAD, PARALLEL } from './measure-load.ts'

const MIB = 1024 * 1024
/** Time for garbage of the start to be collected. */
const REST_MS = 5_000
/** Time for tunnels to be closed after the rule has gone. */
const CLOSE_MS = 3_000

/** Holds idle tunnels, then takes away the rule that allows them. */
export async function measureHeld(
  at: {
    readonly agent: MeasuredAgent
    readonly port: number
    readonly target: string
    readonly rule: LoopbackRule
  },
  { held, holders }: { readonly held: number; readonly holders: number },
): Promise<Rows> {
  const { agent, port, target, rule } = at
  await setTimeout(REST_MS)
  const before = agent.rss().now
  const children = Array.from({ length: holders }, () => {
    const args = [LOAD, 'hold', port, target, Math.ceil(held / holders), PARALLEL].map(String)
    // A session of its own: the agent shares its places out between sessions and processes.
    return spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  })
  await Promise.all(children.map(awaitHeld))
  const outputs = children.map(({ stdout }) => text(stdout))
  const after = agent.rss().now
  await rule.remove()
  const askedAtMs = Date.now()
  await agent.sync()
  await setTimeout(CLOSE_MS)
  for (const { stdin } of children) stdin.end()
  const ends = (await Promise.all(outputs)).map(readEnd)
  const closed = ends.reduce((sum, end) => sum + end.closed, 0)
  if (closed < held) throw new Error(`only ${closed} of ${held} tunnels were closed`)
  const closedMs = Math.max(...ends.map(({ last_closed_at }) => last_closed_at)) - askedAtMs
  return {
    palisade: {
      tunnels: single(held),
      'at rest, MiB': single(before / MIB),
      'with them, MiB': single(after / MIB),
      'kB each': single((after - before) / held / 1000),
      'all closed, ms': single(closedMs),
    },
  }
}

/** Resolves when a process holds its tunnels; rejects when it got fewer. */
async function awaitHeld(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit').then(() => {
    throw new Error('a process did not get all its tunnels')
  })
  await Promise.race([child.stdout === null ? ended : once(child.stdout, 'data'), ended])
  ended.catch(() => {})
}

function readEnd(output: string): { readonly closed: number; readonly last_closed_at: number } {
  return JSON.parse(output.trim().split('\n').at(-1) ?? '{}') as ReturnType<typeof readEnd>
}
