import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseMountTable } from '../../../../agent/src/sandbox/view/mount-table.ts'
import { quantile } from '../../measure/quantile.ts'
import { treeOf } from '../../measure/process-tree.ts'
import { end, startAndAwaitLine, type SandboxMachine } from '../sandbox-machine.ts'
import { DENIED_FILE } from '../workspaces.ts'

export interface MasksResult {
  /** From the rename of an atomic save to the new mask in the mount table of the command. */
  readonly p50_ms: number
  readonly p99_ms: number
  readonly longest_ms: number
  readonly saves: number
}

const COMMAND = 'sleep'
const TIMEOUT_MS = 10_000
/** Between two saves, and between two looks at the mount table. */
const REST_MS = 20
const LOOK_MS = 0.2

/** Saves a denied file as editors do, beside a running sandbox. */
export async function measureMasks(machine: SandboxMachine, saves: number): Promise<MasksResult> {
  const { masks } = machine.workspaces
  const words = ['sh', '-c', `echo ready; exec ${COMMAND} 1000`]
  const child = await startAndAwaitLine(machine, words, masks)
  try {
    await machine.settled(1)
    const command = treeOf(child.pid ?? 0).findLast(({ name }) => name === COMMAND)
    if (command === undefined) throw new Error('the command of the sandbox is not found')
    const windows: number[] = []
    for (let save = 0; save < saves; save += 1) {
      windows.push(saveAndWait(masks, `/proc/${command.pid}/mountinfo`, save))
      await setTimeout(REST_MS)
    }
    return summarizeMasks(windows)
  } finally {
    await end(child)
    await machine.settled()
  }
}

export function summarizeMasks(windows: readonly number[]): MasksResult {
  return {
    p50_ms: quantile(windows, 0.5),
    p99_ms: quantile(windows, 0.99),
    longest_ms: Math.max(...windows),
    saves: windows.length,
  }
}

/** Blocks this thread, because a timer is too coarse. The agent is another process. */
function saveAndWait(workspace: string, mountTable: string, save: number): number {
  const target = join(workspace, DENIED_FILE)
  const isMasked = (): boolean =>
    parseMountTable(readFileSync(mountTable)).some((mount) => mount.target === target)
  if (!isMasked()) throw new Error(`\`${target}\` is not masked before save ${save}`)
  const draft = `${target}~`
  writeFileSync(draft, `secret ${save}\n`)
  const started = performance.now()
  renameSync(draft, target)
  while (!isMasked()) {
    if (performance.now() - started > TIMEOUT_MS)
      throw new Error(`\`${target}\` is not masked ${TIMEOUT_MS} ms after save ${save}`)
    Atomics.wait(CELL, 0, 0, LOOK_MS)
  }
  return performance.now() - started
}

const CELL = new Int32Array(new SharedArrayBuffer(4))
