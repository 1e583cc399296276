import type { ChildProcess } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pssOf, treeOf } from '../../measure/process-tree.ts'
import { end, startAndAwaitLine, type SandboxMachine } from '../sandbox-machine.ts'

export interface ManyResult {
  readonly sandboxes: number
  /** Commands that still ran when memory was read. */
  readonly running: number
  /** Bytes for each sandbox: the processes around the command, with the growth of the agent. */
  readonly bytes_each: number
  /** The part of the agent itself. */
  readonly agent_bytes_each: number
}

const COMMAND = 'sleep'
const AT_ONCE = 4
/** For the spare sandbox after the last one, and for garbage of the starts. */
const REST_MS = 3_000

/** Starts many sandboxes, all in their own workspaces, and reads the memory while all run. */
export async function measureMany(machine: SandboxMachine, count: number): Promise<ManyResult> {
  const before = readMemory(machine, [])
  const children: ChildProcess[] = []
  const words = ['sh', '-c', `echo ready; exec ${COMMAND} 1000`]
  const directories = Array.from({ length: count }, (_, n) =>
    join(machine.workspaces.many, String(n)),
  )
  for (const directory of directories) mkdirSync(directory)
  const startInTurn = async (): Promise<void> => {
    for (let cwd = directories.pop(); cwd !== undefined; cwd = directories.pop())
      children.push(await startAndAwaitLine(machine, words, cwd))
  }
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, startInTurn))
    await machine.settled(count)
    await setTimeout(REST_MS)
    return summarizeMany(count, before, readMemory(machine, children))
  } finally {
    await Promise.all(children.map(end))
    await machine.settled()
  }
}

/** Bytes of the agent, and of all processes that a sandbox adds to the command. */
export interface MemoryReading {
  readonly agentBytes: number
  readonly aroundBytes: number
  /** Commands that run. */
  readonly commands: number
}

function readMemory({ agent }: SandboxMachine, children: readonly ChildProcess[]): MemoryReading {
  const [, ...helpers] = treeOf(agent.pid)
  const supervised = children.flatMap(({ pid = 0 }) => treeOf(pid))
  const around = supervised.filter(({ name }) => name !== COMMAND)
  return {
    agentBytes: pssOf(agent.pid),
    aroundBytes: [...helpers, ...around].reduce((sum, { pid }) => sum + pssOf(pid), 0),
    commands: supervised.length - around.length,
  }
}

export function summarizeMany(
  sandboxes: number,
  before: MemoryReading,
  after: MemoryReading,
): ManyResult {
  const agentBytes = (after.agentBytes - before.agentBytes) / sandboxes
  const aroundBytes = (after.aroundBytes - before.aroundBytes) / sandboxes
  return {
    sandboxes,
    running: after.commands,
    bytes_each: agentBytes + aroundBytes,
    agent_bytes_each: agentBytes,
  }
}
