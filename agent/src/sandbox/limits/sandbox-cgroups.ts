import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, rmdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { systemErrorCode } from '../../host/errors.ts'
import { LAUNCH_FILES } from '../launch/trampoline.ts'
import type { CgroupBases } from './cgroup-bases.ts'
import type { SandboxBounds } from './sandbox-bounds.ts'

/** Processes of the sandbox itself: shell, bubblewrap, the first process, the holder. */
export const OWN_PROCESSES = 4
const PREFIX = 'palisade-'
/** The kernel frees a group a moment after its last process has ended. */
const REMOVE_ATTEMPTS = 200
const REMOVE_PAUSE_MS = 25

/** The control groups of one sandbox, and their settings by the file. */
export interface SandboxCgroup {
  readonly path: string
  readonly settings: ReadonlyMap<string, string>
}

/** The groups that a sandbox with these bounds gets; empty without a base. */
export function planCgroups(
  bases: CgroupBases,
  id: string,
  { processes, memoryBytes }: SandboxBounds,
): readonly SandboxCgroup[] {
  const groups = new Map<string, Map<string, string>>()
  const add = (base: string | null, file: string, value: string): void => {
    if (base === null) return
    const path = join(base, `${PREFIX}${id}`)
    groups.set(path, (groups.get(path) ?? new Map<string, string>()).set(file, value))
  }
  add(bases.pids, 'pids.max', String(processes + OWN_PROCESSES))
  if (memoryBytes !== null) {
    add(bases.memory, 'memory.max', String(memoryBytes))
    // Swapped memory would not count otherwise.
    add(bases.memory, 'memory.swap.max', '0')
  }
  return [...groups].map(([path, settings]) => ({ path, settings }))
}

/** Makes the groups. Rejects with the error of the system. */
export async function makeCgroups(groups: readonly SandboxCgroup[]): Promise<void> {
  for (const { path, settings } of groups) {
    await mkdir(path)
    for (const [file, value] of settings)
      // A kernel without swap has no such setting.
      if (file !== 'memory.swap.max' || existsSync(join(path, file)))
        await writeFile(join(path, file), value)
  }
}

/** The text of the list of groups in the directory of a launch. */
export function formatCgroupList(groups: readonly SandboxCgroup[]): string {
  return groups.map(({ path }) => `${path}\n`).join('')
}

/**
 * Removes the groups that a launch lists, whose processes end. `list` is the path of the list.
 * Resolves to whether all are gone.
 */
export async function removeListedCgroups(list: string): Promise<boolean> {
  const paths = existsSync(list) ? readFileSync(list, 'utf8').split('\n') : []
  const own = paths.filter((path) => basename(path).startsWith(PREFIX))
  const removed = await Promise.all(own.map(removeCgroup))
  return removed.every(Boolean)
}

/** Removes the groups of all launches below a directory, which a killed agent left. */
export async function recoverCgroups(directory: string): Promise<void> {
  const launches = existsSync(directory) ? readdirSync(directory) : []
  const lists = launches.map((id) => join(directory, id, LAUNCH_FILES.cgroups))
  await Promise.all(lists.map(removeListedCgroups))
}

async function removeCgroup(path: string): Promise<boolean> {
  for (let attempt = 0; attempt < REMOVE_ATTEMPTS; attempt += 1) {
    try {
      await rmdir(path)
      return true
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return true
      if (systemErrorCode(error) !== 'EBUSY') return false
    }
    await pause(REMOVE_PAUSE_MS, undefined, { ref: false })
  }
  return false
}
