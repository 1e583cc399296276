import type { PathDenies, Steps } from '@palisade/policy-core'
import { systemErrorCode } from '../../errors.ts'
import {
  statusOrNull,
  unlessMissing,
  type DirectoryEntry,
  type ObjectStatus,
  type ViewDisk,
} from './disk.ts'
import { holdOf, type HeldPath, type Hold } from './held-path.ts'
import { join } from './mount-table.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'
import type { Workspace } from './workspace.ts'

/** A file that a rule denies and that has several names. */
export interface LinkedFile {
  readonly path: string
  readonly hold: Hold
  readonly device: number
  readonly inode: number
  readonly links: number
}

export interface LinkSearch {
  /** The other names in the workspaces, which are to be held alike. */
  readonly held: readonly HeldPath[]
  /** Sentences about files whose names were not all found. */
  readonly warnings: readonly string[]
}

/**
 * Returns the denied files with more than one name: those of the walk, and those that rules name
 * anywhere on the machine.
 */
export function* linkedFiles(
  held: readonly HeldPath[],
  denies: PathDenies,
  disk: ViewDisk,
): Steps<LinkedFile[]> {
  const denied: readonly Pick<HeldPath, 'path' | 'hold'>[] = [
    ...denies.literals.map((path): Pick<HeldPath, 'path' | 'hold'> => {
      return { path, hold: holdOf(denies.at(path).denies) ?? 'read-only' }
    }),
    ...held.filter(({ isDenied, kind }) => isDenied && kind === 'file'),
  ]
  const byPath = new Map(denied.map(({ path, hold }) => [path, hold]))
  const linked: LinkedFile[] = []
  for (const [path, hold] of byPath) {
    yield
    const status = statusOrNull(disk, path)
    if (isLinked(status)) linked.push({ path, hold, ...status })
  }
  return linked
}

/**
 * Looks for the other names of the files in all workspaces. Without such a file it reads nothing;
 * otherwise it asks for the status of every file, which takes O(entries).
 */
export function* searchLinks(
  workspaces: readonly Workspace[],
  linked: readonly LinkedFile[],
  disk: ViewDisk,
): Steps<LinkSearch> {
  if (linked.length === 0) return { held: [], warnings: [] }
  const byInode = new Map(linked.map((file) => [keyOf(file), file]))
  const found = new Map<string, Set<string>>()
  const held: HeldPath[] = []
  for (const { path: root } of topmost(workspaces)) {
    for (const [path, status] of eachFile(root, disk)) {
      yield
      const file = isLinked(status) ? byInode.get(keyOf(status)) : undefined
      if (file === undefined) continue
      const names = found.get(file.path) ?? new Set()
      found.set(file.path, names.add(path))
      if (path !== file.path) held.push({ path, hold: file.hold, kind: 'file', isDenied: true })
    }
  }
  const warnings = [...byInode.values()].flatMap(({ path, links }) => {
    const names = found.get(path) ?? new Set()
    const missing = links - names.size - (names.has(path) ? 0 : 1)
    return missing > 0
      ? [`the denied file ${quotePath(path)} has ${missing} more names outside the workspaces`]
      : []
  })
  return { held, warnings }
}

function isLinked(status: ObjectStatus | null): status is ObjectStatus {
  return status?.kind === 'file' && status.links > 1
}

function keyOf({ device, inode }: { readonly device: number; readonly inode: number }): string {
  return `${device}:${inode}`
}

/** Workspaces that no other one contains. */
function topmost(workspaces: readonly Workspace[]): readonly Workspace[] {
  return workspaces.filter(
    ({ path }) => !workspaces.some((other) => path.startsWith(`${other.path}/`)),
  )
}

function* eachFile(root: string, disk: ViewDisk): Generator<[string, ObjectStatus | null]> {
  const pending = [root]
  for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
    for (const entry of namesOf(directory, disk)) {
      const path = join(directory, `/${entry.name}`)
      if (entry.isDirectory()) pending.push(path)
      else if (entry.isFile()) yield [path, disk.status(path)]
    }
  }
}

function namesOf(directory: string, disk: ViewDisk): readonly DirectoryEntry[] {
  try {
    return unlessMissing(() => disk.list(directory))?.entries ?? []
  } catch (error) {
    const code = systemErrorCode(error)
    if (code === null) throw error
    throw new ViewRefusal(
      `the directory ${quotePath(directory)} cannot be read (${code}), so hard links to denied ` +
        'files are unknown',
      error,
    )
  }
}
