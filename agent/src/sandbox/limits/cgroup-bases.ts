import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { findOwnCgroups, type OwnCgroup, type Controller } from './cgroup-hierarchies.ts'

/** Directories of control groups in which those of sandboxes can be made; null for no such. */
export type CgroupBases = Readonly<Record<Controller, string | null>>

/**
 * Files of control groups. A refusal of the system is no error here: it leads to the next group,
 * or to limits by process.
 */
export interface CgroupDisk {
  read(path: string): string | null
  write(path: string, text: string): boolean
  make(path: string): boolean
  remove(path: string): boolean
}

export interface CgroupBasesDeps {
  readonly disk: CgroupDisk
  readonly pid: number
  readonly uid: number
  /** A name for a group that is made and removed to try a base. */
  readonly probe: string
}

const CONTROLLERS: readonly Controller[] = ['pids', 'memory']
/** The group of the agent itself in a group that was delegated to it. */
const AGENT_GROUP = 'agent'

/**
 * Finds where this process may make control groups. Version 2 wants controllers to be on for the
 * children of a group, and then permits no process in it: alone in its group, the agent moves into
 * one below. That is a service with `Delegate=yes`.
 */
export function findCgroupBases(deps: CgroupBasesDeps): CgroupBases {
  const bases: Record<Controller, string | null> = { pids: null, memory: null }
  const mounts = deps.disk.read('/proc/self/mountinfo') ?? ''
  const groups = deps.disk.read('/proc/self/cgroup') ?? ''
  for (const group of findOwnCgroups(mounts, groups))
    for (const base of candidates(group, deps.uid)) {
      if (group.version === 2) turnOn(base, group.own, deps)
      const found = tryBase(base, group.version, deps)
      for (const controller of found) bases[controller] ??= base
    }
  return bases
}

/** Only root may use the top, which is no group of its own. */
function candidates({ own, top, version }: OwnCgroup, uid: number): ReadonlySet<string> {
  if (version === 1) return new Set([own])
  const parent = basename(own) === AGENT_GROUP && own !== top ? [dirname(own)] : []
  return new Set([...parent, own, ...(uid === 0 ? [top] : [])])
}

function turnOn(base: string, own: string, { disk, pid }: CgroupBasesDeps): void {
  const control = join(base, 'cgroup.subtree_control')
  const isOn = words(disk.read(control))
  const known = words(disk.read(join(base, 'cgroup.controllers')))
  for (const name of CONTROLLERS) {
    if (isOn.includes(name) || !known.includes(name)) continue
    if (disk.write(control, `+${name}`)) continue
    if (base !== own || !moveBelow(base, disk, pid)) return
    disk.write(control, `+${name}`)
  }
}

/** Moves this process to a group below its own, if it is alone there. */
function moveBelow(base: string, disk: CgroupDisk, pid: number): boolean {
  const group = join(base, AGENT_GROUP)
  const [first, ...others] = words(disk.read(join(base, 'cgroup.procs')))
  if (first !== String(pid) || others.length > 0) return false
  disk.make(group)
  return disk.write(join(group, 'cgroup.procs'), String(pid))
}

/** The controllers that a group below the base has. */
function tryBase(base: string, version: 1 | 2, { disk, probe }: CgroupBasesDeps) {
  const group = join(base, probe)
  if (!disk.make(group)) return []
  const found = (version === 1 ? CONTROLLERS.slice(0, 1) : CONTROLLERS).filter(
    (name) => disk.read(join(group, `${name}.max`)) !== null,
  )
  disk.remove(group)
  return found
}

function words(text: string | null): readonly string[] {
  return (text ?? '').split(/\s+/).filter((word) => word !== '')
}

/** The control groups of this machine. */
export function createCgroupDisk(): CgroupDisk {
  const attempt = (act: () => void): boolean => {
    try {
      act()
      return true
    } catch {
      return false
    }
  }
  return {
    read(path) {
      try {
        return readFileSync(path, 'utf8')
      } catch {
        return null
      }
    },
    write: (path, text) => attempt(() => writeFileSync(path, text)),
    make: (path) => attempt(() => mkdirSync(path)),
    remove: (path) => attempt(() => rmdirSync(path)),
  }
}
