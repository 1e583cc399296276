import { closeSync, existsSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { AgentLog } from '../host/agent-log.ts'
import { systemErrorCode } from '../host/errors.ts'
import { awaitChild, type Child } from './launch/await-child.ts'
import type { PreparedLaunch } from './launch/prepare-launch.ts'
import type { SandboxNetwork } from './network/sandbox-network.ts'
import { compareMounts, hasAllMounts } from './view/compare-mounts.ts'
import type { ViewDisk } from './view/disk.ts'
import { readMountTable } from './view/mount-table.ts'
import type { LiveGuard } from './view/live-guard.ts'
import type { ViewPlan } from './view/view-plan.ts'
import { ViewRefusal } from './view/view-refusal.ts'

/** The caller got the launch and may have ended since. */
const START_TIMEOUT_MS = 30_000
const MOUNT_POLL_MS = 1
/** Time for the supervising shell to read why its sandbox was ended. */
const REFUSAL_MS = 3_000
const CHILD_END_MS = 200
const END_TIMEOUT_MS = 10_000

export interface SupervisionDeps {
  readonly launch: PreparedLaunch
  readonly plan: ViewPlan
  readonly network: SandboxNetwork
  readonly disk: Pick<ViewDisk, 'list' | 'mountTable' | 'status'>
  readonly createGuard: (child: Child, end: (problem: string) => void) => LiveGuard
  /** Applies the changes since the plan to the guard. Rejects if the view is not open now. */
  readonly applyMissedChanges: (guard: LiveGuard) => Promise<void>
  /** Lines for the person who ran the command, once all of it has ended. */
  readonly describeEnd: () => readonly string[]
  readonly log: Pick<AgentLog, 'info' | 'warn'>
}

/** The life of one sandbox, from its launch to the last trace of it. */
export interface Supervision {
  /** Null until the command may run. */
  guard(): LiveGuard | null
  /** Ends all processes. The person at the terminal reads `problem`. Idempotent. */
  end(problem: string): void
  /** Resolves when the last trace of it is gone. Never rejects. */
  readonly ended: Promise<void>
}

/**
 * Waits for the mounts of the sandbox, compares them with the plan, starts the guard, and then lets
 * the command run. Ends with the command, and when something cannot be held.
 */
export function supervise(deps: SupervisionDeps): Supervision {
  const { launch, log } = deps
  const stop = new AbortController()
  let child: Child | null = null
  let guard: LiveGuard | null = null
  // The supervisor waits while this end is open.
  const endFifo = launch.directory.openFifo('end', 'both')

  const run = async (): Promise<void> => {
    const late = AbortSignal.timeout(START_TIMEOUT_MS)
    child = await awaitChild(launch.directory, AbortSignal.any([late, stop.signal]))
    await awaitMounts(child, deps, late)
    requirePlan(child, deps)
    guard = deps.createGuard(child, stopWith)
    await guard.start()
    await deps.applyMissedChanges(guard)
    stop.signal.throwIfAborted()
    openGate(launch)
    log.info({ sandbox: launch.id }, 'a sandbox runs')
    await Promise.race([child.ended, launch.holder.ended, rejectOn(stop.signal)])
  }

  const stopWith = (problem: string): void => stop.abort(new ViewRefusal(problem))

  const onUnfinished = (err: unknown): void =>
    log.warn({ err, sandbox: launch.id }, 'a sandbox did not end as a whole')

  const live = async (): Promise<void> => {
    try {
      await run()
    } catch (error) {
      const problem = error instanceof Error ? error.message : 'unknown error'
      log.warn({ sandbox: launch.id, problem }, 'a sandbox was ended')
      await launch.directory.write('refusal', `${problem}\n`).catch(() => {})
      launch.holder.end()
      // The supervising shell reads the refusal before it ends.
      await Promise.race([child?.ended, pause(REFUSAL_MS, undefined, { ref: false })])
    } finally {
      deps.network.close()
      const problem = await guard?.finish(endOfAll(launch, child)).catch((err: unknown) => {
        log.warn({ err, sandbox: launch.id }, 'the files of a sandbox were not checked')
        return 'the files of the command were not checked to the end; see the log of the agent'
      })
      await deps.plan.release().catch((err: unknown) => log.warn({ err }, 'placeholders were left'))
      tellEnd(endFifo, [...deps.describeEnd(), ...(problem == null ? [] : [problem])])
      await launch.discard().catch((err: unknown) => log.warn({ err }, 'a place was not removed'))
    }
  }

  return { guard: () => guard, end: stopWith, ended: live().catch(onUnfinished) }
}

/**
 * Resolves when no process of the sandbox is left, or when one hangs. Bubblewrap ends with the
 * command, and the kernel ends the others with its child some milliseconds later. The end of the
 * namespaces takes longer.
 */
async function endOfAll(launch: PreparedLaunch, child: Child | null): Promise<void> {
  const { holder } = launch
  if (child === null) return
  for (let waitedMs = 0; waitedMs < CHILD_END_MS; waitedMs += MOUNT_POLL_MS) {
    if (hasEnded(launch, child)) return
    await pause(MOUNT_POLL_MS)
  }
  holder.end()
  await Promise.race([holder.ended, pause(END_TIMEOUT_MS, undefined, { ref: false })])
}

/** A first process is a zombie only after all others of its namespace have ended. */
function hasEnded(launch: PreparedLaunch, child: Child): boolean {
  const folder = processFolder(launch, child)
  try {
    return /\) Z [^)]*$/.test(readFileSync(`${folder}/stat`, 'latin1'))
  } catch (error) {
    if (systemErrorCode(error) === null) throw error
    // Its state can be read through the holder alone.
    return existsSync(join(folder, '../1'))
  }
}

/** The lines fit into the buffer of a FIFO. Closing it lets the supervisor end. */
function tellEnd(fifo: number, lines: readonly string[]): void {
  try {
    if (lines.length > 0) writeSync(fifo, `${lines.join('\n')}\n`)
  } finally {
    closeSync(fifo)
  }
}

/** The files of a process of the sandbox, by its id in the process namespace of the holder. */
export function processFolder({ holder }: PreparedLaunch, { pid }: Child): string {
  return `/proc/${holder.pid}/root/proc/${pid}`
}

/** Bubblewrap tells its child before it has made the mounts. Rejects when that takes too long. */
async function awaitMounts(
  child: Child,
  { launch }: SupervisionDeps,
  signal: AbortSignal,
): Promise<void> {
  const table = `${processFolder(launch, child)}/mountinfo`
  while (!hasAllMounts(readMountTable(table))) await pause(MOUNT_POLL_MS, undefined, { signal })
}

/** Throws `ViewRefusal` when the mounts are not those that were planned. */
function requirePlan(child: Child, { launch, plan, disk }: SupervisionDeps): void {
  const folder = processFolder(launch, child)
  const mountTable = readMountTable(`${folder}/mountinfo`)
  const difference = compareMounts(
    { mountTable, hostTable: disk.mountTable(), root: `${folder}/root`, disk },
    plan.expected,
  )
  if (difference !== null) throw new ViewRefusal(difference)
}

/** The command starts with the first byte. */
function openGate({ directory }: PreparedLaunch): void {
  const gate = directory.openFifo('gate', 'both')
  writeSync(gate, '1')
  closeSync(gate)
}

function rejectOn(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason as Error))
  return promise
}
