import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { divide, rangeOf } from '../figures/range.ts'
import type { Run } from '../figures/subject.ts'
import type { Rows } from '../figures/table.ts'
import { takeTurns } from '../figures/take-turns.ts'
import { runCommand, runNode } from '../process/run-command.ts'
import { readBubblewrapWords } from './raw-bubblewrap.ts'
import { PALISADE, type SandboxMachine } from './sandbox-machine.ts'

const CLI = join(
  import.meta.dirname,
  '../../peers/node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js',
)
const BUBBLEWRAP = 'bubblewrap'
const OURS = 'palisade run'
const SANDBOX_RUNTIME = 'sandbox-runtime'

/**
 * Runs `true` to its exit in each kind of sandbox. Bubblewrap gets the arguments that the agent
 * wrote for its own sandbox, and a network namespace: the same mounts and namespaces, without
 * holder, filter, gate and guard.
 */
export async function measureStart(
  machine: SandboxMachine,
  { folder, note }: Run,
  rounds: number,
): Promise<Rows> {
  const { env, workspaces, settled } = machine
  const words = await readBubblewrapWords(machine)
  const peer = sandboxRuntimeCommand(folder)
  const at = { cwd: workspaces.empty, env }
  const contenders: Record<string, () => Promise<{ readonly tookMs: number }>> = {
    [BUBBLEWRAP]: () => runCommand('bwrap', [...words, '--', 'true']),
    [OURS]: () => runNode([...PALISADE, 'run', '--', 'true'], at),
  }
  const peerAt = { ...at, cwd: workspaces.peers }
  if (peer === null) note('left out: sandbox-runtime: it is not installed')
  else contenders[SANDBOX_RUNTIME] = () => runNode(peer, peerAt)
  const runs = await takeTurns(rounds, contenders, settled)
  return describeStart(
    Object.fromEntries(
      Object.entries(runs).map(([name, all]) => [name, all.map(({ tookMs }) => tookMs)]),
    ),
  )
}

/** The rows of the contenders, from their milliseconds by round. */
export function describeStart(took: Readonly<Record<string, readonly number[]>>): Rows {
  const ours = took[OURS] ?? []
  const rows = Object.entries(took).map(([name, ms]) => [
    name,
    { ms: rangeOf(ms), 'x palisade': rangeOf(divide(ms, ours)) },
  ])
  return Object.fromEntries(rows) as Rows
}

/**
 * The arguments of Node for `true` in a sandbox of sandbox-runtime whose network leads to its
 * proxy. Null when it is not installed.
 */
function sandboxRuntimeCommand(folder: string): string[] | null {
  if (!existsSync(CLI)) return null
  const settings = join(folder, 'srt-settings.json')
  const network = { allowedDomains: ['example.com'], deniedDomains: [] }
  const filesystem = { denyRead: [], allowWrite: ['.'], denyWrite: [] }
  writeFileSync(settings, JSON.stringify({ network, filesystem }))
  return [CLI, '--settings', settings, '--', 'true']
}
