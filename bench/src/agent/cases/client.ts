import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { bundleOf, CLI } from '../../../../packages/launcher/programs.mjs'
import { rangeOf, type Range } from '../../measure/range.ts'
import { startAgent } from '../agent-process.ts'
import { ALLOWED, copyMachine, type Machine } from '../machine.ts'

export type ClientCommand = 'version' | 'hook' | 'status' | 'why'

export interface ClientResult {
  /** Runs `node -e 0` to its exit. */
  readonly node_ms: Range
  /** A whole run of `palisade`, divided by `node_ms` of the same round. */
  readonly ratio: Readonly<Record<ClientCommand, Range>>
  readonly rounds: number
}

interface Run {
  readonly args: readonly string[]
  readonly input: string
  /** Part of the answer, which only a run with the agent's word prints. */
  readonly answer: string
}

const MAIN = join(import.meta.dirname, '../../../..', bundleOf(CLI))

const TOOL_CALL = {
  hook_event_name: 'PreToolUse',
  tool_name: 'Read',
  tool_input: { file_path: '/etc/hosts' },
  cwd: '/',
}

const RUNS: Readonly<Record<ClientCommand, Run>> = {
  version: { args: ['--version'], input: '', answer: '.' },
  hook: { args: ['hook', 'claude'], input: JSON.stringify(TOOL_CALL), answer: 'default_deny' },
  status: { args: ['status'], input: '', answer: 'fresh' },
  why: { args: ['why'], input: '', answer: 'default_deny' },
}

const COMMANDS = ['version', 'hook', 'status', 'why'] as const

/** Runs node and `palisade` in alternation, so that other load on the machine affects all. */
export async function measureClient(
  { dataDir }: Machine,
  folder: string,
  count: number,
): Promise<ClientResult> {
  const own = copyMachine(dataDir, join(folder, 'client'))
  const agent = await startAgent(own, ALLOWED)
  try {
    const rounds: Readonly<Record<ClientCommand | 'node', number>>[] = []
    // Round 0 is discarded: the first start of each program reads its files from disk.
    for (let round = 0; round <= count; round += 1) {
      const node = await runOnce(own, { args: ['-e', '0'], input: '', answer: '' })
      const ours = { version: 0, hook: 0, status: 0, why: 0 }
      for (const command of COMMANDS) {
        const { args, ...run } = RUNS[command]
        ours[command] = await runOnce(own, { args: [...CLI.nodeOptions, MAIN, ...args], ...run })
      }
      rounds.push({ node, ...ours })
    }
    const counted = rounds.slice(1)
    const ratio = (command: ClientCommand): Range =>
      rangeOf(counted.map((round) => round[command] / round.node))
    return {
      node_ms: rangeOf(counted.map(({ node }) => node)),
      ratio: {
        version: ratio('version'),
        hook: ratio('hook'),
        status: ratio('status'),
        why: ratio('why'),
      },
      rounds: count,
    }
  } finally {
    await agent.stop()
  }
}

/** Returns milliseconds to the exit. */
async function runOnce(dataDir: string, { args, input, answer }: Run): Promise<number> {
  const started = performance.now()
  const child = spawn(process.execPath, args, {
    env: { PALISADE_DATA_DIR: dataDir },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  // Node with an empty script may end before it reads.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const ended = once(child, 'exit').then(() => performance.now() - started)
  const [took, printed] = await Promise.all([ended, text(child.stdout)])
  if (child.exitCode !== 0 || !printed.includes(answer))
    throw new Error(`\`${args.join(' ')}\` ended with ${child.exitCode} and \`${printed}\``)
  return took
}
