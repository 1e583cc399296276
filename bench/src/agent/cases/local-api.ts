import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { rangeOf, type Range } from '../../measure/range.ts'
import { startAgent } from '../agent-process.ts'
import { ALLOWED, copyMachine, type Machine } from '../machine.ts'

export interface LocalApiOptions {
  readonly rounds: number
  readonly requests: number
  readonly batches: number
}

export interface LocalApiResult {
  /** Decisions a second of one client on a kept connection. */
  readonly single_per_s: Range
  /** Requests a second of the same client to a bare server. */
  readonly bare_per_s: Range
  /** Decisions a second in batches of a thousand lines. */
  readonly batched_per_s: Range
}

const BATCH_LINES = 1_000
const FOLDER = join(import.meta.dirname, '../local-api')

/** Measures the local API beside a bare `node:http` server on a Unix socket, in alternation. */
export async function measureLocalApi(
  { dataDir }: Machine,
  folder: string,
  { rounds, requests, batches }: LocalApiOptions,
): Promise<LocalApiResult> {
  const bareSocket = join(folder, 'bare.sock')
  const bare = spawn(process.execPath, [join(FOLDER, 'bare-server.ts'), bareSocket], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const agent = await startAgent(copyMachine(dataDir, join(folder, 'local-api')), ALLOWED)
  try {
    while (!existsSync(bareSocket)) await setTimeout(20)
    const one = JSON.stringify(ALLOWED)
    const batch = `${one}\n`.repeat(BATCH_LINES)
    const single: number[] = []
    const plain: number[] = []
    const batched: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      plain.push(await runLoad(bareSocket, one, 'application/json', requests))
      single.push(await runLoad(agent.socketPath, one, 'application/json', requests))
      const perSecond = await runLoad(agent.socketPath, batch, 'application/x-ndjson', batches)
      batched.push(BATCH_LINES * perSecond)
    }
    return {
      single_per_s: rangeOf(single),
      bare_per_s: rangeOf(plain),
      batched_per_s: rangeOf(batched),
    }
  } finally {
    await agent.stop()
    const ended = once(bare, 'exit')
    bare.kill('SIGKILL')
    await ended
  }
}

/** Returns requests a second. */
async function runLoad(
  socketPath: string,
  body: string,
  type: string,
  count: number,
): Promise<number> {
  const args = [join(FOLDER, 'load.ts'), socketPath, body, type, String(count)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [took] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (child.exitCode !== 0) throw new Error('the load on the local API failed')
  return (count / Number(took)) * 1000
}
