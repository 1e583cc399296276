import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { LAUNCH_FILES } from '../../../agent/src/sandbox/launch/trampoline.ts'
import { end, startAndAwaitLine, type SandboxMachine } from './sandbox-machine.ts'

const TIMEOUT_MS = 10_000
/** Options that name a descriptor of the agent. */
const OF_THE_AGENT = ['--seccomp', '--block-fd', '--info-fd']

/** The arguments with which the agent starts bubblewrap, for a bubblewrap without an agent. */
export async function readBubblewrapWords(machine: SandboxMachine): Promise<string[]> {
  const child = await startAndAwaitLine(
    machine,
    ['sh', '-c', 'echo ready; exec sleep 1000'],
    machine.workspaces.raw,
  )
  const directory = join(machine.agentDir, 'sandboxes')
  const files = readdirSync(directory).map((id) => join(directory, id, LAUNCH_FILES.arguments))
  // The spare one has no arguments yet, and the last one may not be removed yet.
  const words = files
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'utf8').split('\0').slice(0, -1))
    .find((words) => words.includes(machine.workspaces.raw))
  if (words === undefined) throw new Error('the agent keeps no arguments of its sandbox')
  await end(child)
  await machine.settled()
  await makeHeld(machine.workspaces.raw, words)
  return withoutAgent(words)
}

/**
 * The agent holds missing names by placeholders, which go away after the sandbox. In an empty
 * workspace all of them are directories.
 */
async function makeHeld(workspace: string, words: readonly string[]): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS
  while (readdirSync(workspace).length > 0 && performance.now() < deadline) await setTimeout(20)
  for (const word of words)
    if (word.startsWith(`${workspace}/`)) mkdirSync(word, { recursive: true })
}

/** Adds the network namespace, which the sandbox has from its holder. */
export function withoutAgent(words: readonly string[]): string[] {
  const kept = words.filter(
    (word, at) => !OF_THE_AGENT.includes(word) && !OF_THE_AGENT.includes(words[at - 1] ?? ''),
  )
  return ['--unshare-net', ...kept]
}
