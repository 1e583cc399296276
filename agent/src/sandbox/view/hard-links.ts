import type { PathDenies, Steps } from '@palisade/policy-core'
import { statusOrNull, type ObjectStatus, type ViewDisk } from './disk.ts'
import { everyName } from './every-name.ts'
import {
  restrictionOf,
  PACKAGES,
  type RestrictedPath,
  type Restriction,
} from './path-restriction.ts'
import { quotePath } from './view-refusal.ts'
import type { Workspace } from './workspace.ts'

/** A file that is held and that has several names. */
export interface LinkedFile {
  readonly path: string
  readonly level: Restriction
  readonly isDenied: boolean
  readonly device: number
  readonly inode: number
  readonly links: number
}

export interface LinkSearch {
  /** The other names in the workspaces, which are to be held alike. */
  readonly restricted: readonly RestrictedPath[]
  /** Sentences about denied files whose names were not all found. */
  readonly warnings: readonly string[]
}

/**
 * Returns the held files with more than one name: those of the walk, and those that rules name
 * anywhere on the machine.
 */
export function* linkedFiles(
  restricted: readonly RestrictedPath[],
  denies: PathDenies,
  disk: ViewDisk,
): Steps<LinkedFile[]> {
  const files: readonly Pick<RestrictedPath, 'path' | 'level' | 'isDenied'>[] = [
    ...restricted.filter((each) => each.kind === 'file' && mayBeLinked(each)),
    ...denies.literals.map((path) => {
      return { path, level: restrictionOf(denies.at(path).denies) ?? 'read-only', isDenied: true }
    }),
  ]
  const byPath = new Map(files.map((file) => [file.path, file]))
  const linked: LinkedFile[] = []
  for (const { path, level, isDenied } of byPath.values()) {
    yield
    const status = statusOrNull(disk, path)
    if (isLinked(status)) linked.push({ ...status, path, level, isDenied })
  }
  return linked
}

/**
 * Looks for the other names of the files in all workspaces. Without such a file it reads no
 * directory; otherwise it asks for the status of every file, which takes O(entries).
 */
export function* searchLinks(
  workspaces: readonly Workspace[],
  linked: readonly LinkedFile[],
  disk: ViewDisk,
): Steps<LinkSearch> {
  if (linked.length === 0) return { restricted: [], warnings: [] }
  // A deny is stronger than the guard.
  const byStrength = linked.toSorted((a, b) => Number(a.isDenied) - Number(b.isDenied))
  const byInode = new Map(byStrength.map((file) => [keyOf(file), file]))
  const found = new Map<string, Set<string>>()
  const restricted: RestrictedPath[] = []
  for (const { path: root } of topmost(workspaces)) {
    for (const next of everyName(root, disk)) {
      yield
      if (next?.entry?.isFile() !== true) continue
      const { path } = next
      const status = disk.status(path)
      const file = isLinked(status) ? byInode.get(keyOf(status)) : undefined
      if (file === undefined) continue
      const names = found.get(file.path) ?? new Set()
      found.set(file.path, names.add(path))
      const { level, isDenied } = file
      if (path !== file.path) restricted.push({ path, level, kind: 'file', isDenied })
    }
  }
  const denied = [...byInode.values()].filter(({ isDenied }) => isDenied)
  const warnings = denied.flatMap(({ path, links }) => {
    const names = found.get(path) ?? new Set()
    const missing = links - names.size - (names.has(path) ? 0 : 1)
    return missing > 0
      ? [`the denied file ${quotePath(path)} has ${missing} more names outside the workspaces`]
      : []
  })
  return { restricted, warnings }
}

/**
 * Whether other names of a held file are held. Package managers link all files of packages into a
 * store, so a guarded one would make each start read the whole workspace.
 */
export function mayBeLinked({
  isDenied,
  path,
}: Pick<RestrictedPath, 'isDenied' | 'path'>): boolean {
  return isDenied || !path.includes(PACKAGES)
}

function isLinked(status: ObjectStatus | null): status is ObjectStatus {
  return status?.kind === 'file' && status.links > 1
}

function keyOf({ device, inode }: { readonly device: number; readonly inode: number }): string {
  return `${device}:${inode}`
}

/** Workspaces that no other one contains. */
export function topmost(workspaces: readonly Workspace[]): readonly Workspace[] {
  return workspaces.filter(
    ({ path }) => !workspaces.some((other) => path.startsWith(`${other.path}/`)),
  )
}
