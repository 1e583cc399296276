import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, watch } from 'node:fs'
import type { Child } from './launch/await-child.ts'
import type { PreparedLaunch } from './launch/prepare-launch.ts'
import { processFolder } from './supervise.ts'
import { createLiveGuard, type LiveGuard, type LiveGuardDeps } from './view/live-guard.ts'
import { readMountTable } from './view/mount-table.ts'
import { chooseDialect } from './view/mount-dialect.ts'
import { openMountShell, type MountShell } from './view/mount-shell.ts'
import type { ViewPlan } from './view/view-plan.ts'
import { quotePath, ViewRefusal } from './view/view-refusal.ts'

const RANDOM_BYTES = 6

/** Keeps the view of a sandbox as it was planned, and limits the files of its private places. */
export function guardView(
  plan: ViewPlan,
  launch: PreparedLaunch,
  to: {
    readonly child: Child
    readonly end: (problem: string) => void
    readonly onAside: LiveGuardDeps['onAside']
    readonly waiting: LiveGuardDeps['waiting']
    readonly awaited: LiveGuardDeps['awaited']
    readonly hidden: LiveGuardDeps['hidden']
    readonly entries: number
  },
): LiveGuard {
  const table = `${processFolder(launch, to.child)}/mountinfo`
  const shell = openMountShell({
    spawn,
    dialect: chooseDialect({ arch: process.arch, exists: existsSync }),
    holderPid: launch.holder.pid,
    childPid: to.child.pid,
  })
  const guard = createLiveGuard(plan.guarded, {
    ...to,
    walk: plan.walk,
    randomName: () => randomBytes(RANDOM_BYTES).toString('hex'),
    shell,
    watch,
    ...(plan.guarded.absent === undefined ? {} : { isShown: showsIn(launch, to.child, plan) }),
    mountTable: () => readMountTable(table),
    every(intervalMs, listener) {
      const timer = setInterval(listener, intervalMs).unref()
      return () => clearInterval(timer)
    },
  })
  return {
    async start() {
      await Promise.all([limitEntries(shell, plan.expected.privates, to.entries), guard.start()])
    },
    tighten: (change) => guard.tighten(change),
    settled: () => guard.settled(),
    finish: (ended) => guard.finish(ended),
    stop: () => guard.stop(),
  }
}

/** Bubblewrap limits only the size, and an empty file has no bytes. Rejects with `ViewRefusal`. */
async function limitEntries(
  shell: MountShell,
  privates: Iterable<string>,
  entries: number,
): Promise<void> {
  const limit = async (target: string): Promise<void> => {
    if (!(await shell.limitEntries(target, entries)))
      throw new ViewRefusal(`the number of files in ${quotePath(target)} cannot be limited here`)
  }
  await Promise.all(Array.from(privates, limit))
}

/** A strict sandbox may have removed a path that the host has. */
function showsIn(
  launch: PreparedLaunch,
  child: Child,
  { walk }: ViewPlan,
): (path: string) => boolean {
  const root = `${processFolder(launch, child)}/root`
  return (path) => walk.disk.status(`${root}${path}`) !== null
}
