import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  type Stats,
} from 'node:fs'
import { systemErrorCode } from '../../host/errors.ts'
import { unlessMissing } from '../view/disk.ts'
import { quotePath } from '../view/view-refusal.ts'
import type { StagedWorkspace } from './staged-session.ts'

/** The host has changed so that a staged change cannot be copied out. The message is for people. */
export class HostConflict extends Error {
  override readonly name = 'HostConflict'
}

/** A directory of the host, by its real path and by its object. */
type HostDirectory = Pick<StagedWorkspace, 'path' | 'device' | 'inode'>

/** The path of a name in a directory that stays open, whatever happens to its own path. */
export type PathOf = (name: string) => string

/** A workspace of the host. No look-up in it follows a symbolic link, or leaves its file system. */
export interface HostTree {
  /**
   * Calls `work` with the directory that has the last of the names; the ones before lead to it from
   * the workspace. Null when a directory on the way is missing. Throws `HostConflict` when one is
   * no directory.
   */
  inParent<T>(names: readonly string[], work: (at: PathOf, name: string) => T): T | null
  /** Null when it does not exist. */
  status(names: readonly string[]): Stats | null
  /** Text of a symbolic link; null when it does not exist. */
  target(names: readonly string[]): string | null
  /** Names in a directory as bytes; empty when it does not exist. */
  list(names: readonly string[]): readonly Buffer[]
  close(): void
}

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/**
 * Opens the workspace. Throws `HostConflict` when it is not the directory that the sandbox had, at
 * the path that policy was asked for.
 */
export function openHostTree(workspace: HostDirectory): HostTree {
  const root = openRoot(workspace)
  const { dev } = fstatSync(root)
  /** The descriptor of a directory, which the caller closes; null when one is missing. */
  const open = (names: readonly string[]): number | null => {
    let current = root
    for (const name of names) {
      const next = openChild(current, name)
      if (current !== root) closeSync(current)
      if (next === null) return null
      current = next
      if (fstatSync(current).dev === dev) continue
      closeSync(current)
      throw new HostConflict(`${quotePath(name)} is on another file system now`)
    }
    return current
  }
  const within = <T>(names: readonly string[], work: (descriptor: number) => T): T | null => {
    const descriptor = open(names)
    if (descriptor === null) return null
    try {
      return work(descriptor)
    } finally {
      if (descriptor !== root) closeSync(descriptor)
    }
  }
  const inParent: HostTree['inParent'] = (names, work) =>
    within(names.slice(0, -1), (descriptor) =>
      work((name) => `/proc/self/fd/${descriptor}/${name}`, names.at(-1) ?? ''),
    )
  return {
    inParent,
    status: (names) =>
      inParent(names, (at, name) => unlessMissing(() => lstatSync(at(name))) ?? null),
    target: (names) =>
      inParent(names, (at, name) => unlessMissing(() => readlinkSync(at(name))) ?? null),
    list: (names) =>
      within(names, (descriptor) =>
        readdirSync(`/proc/self/fd/${descriptor}`, { encoding: 'buffer' }),
      ) ?? [],
    close: () => closeSync(root),
  }
}

function openRoot({ path, device, inode }: HostDirectory): number {
  const moved = (cause?: unknown): HostConflict =>
    new HostConflict(`the workspace ${quotePath(path)} was moved or replaced`, { cause })
  let root: number
  try {
    root = openSync(path, DIRECTORY)
  } catch (error) {
    throw moved(error)
  }
  const { dev, ino } = fstatSync(root)
  // The descriptor tells the path without any symbolic link above.
  const isSame = dev === device && ino === inode && readlinkSync(`/proc/self/fd/${root}`) === path
  if (isSame) return root
  closeSync(root)
  throw moved()
}

function openChild(directory: number, name: string): number | null {
  try {
    return openSync(`/proc/self/fd/${directory}/${name}`, DIRECTORY)
  } catch (error) {
    const code = systemErrorCode(error)
    if (code === 'ENOENT') return null
    if (code !== 'ELOOP' && code !== 'ENOTDIR') throw error
    throw new HostConflict(`${quotePath(name)} is no directory now`, { cause: error })
  }
}
