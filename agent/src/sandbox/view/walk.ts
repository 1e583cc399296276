import type { Steps } from '@palisade/policy-core'
import { systemErrorCode } from '../../host/errors.ts'
import {
  statusOrNull,
  type DirectoryEntry,
  type Listing,
  type ObjectStatus,
  type ViewDisk,
} from './disk.ts'
import { WorkspaceScan, type Directory } from './workspace-scan.ts'
import type {
  InvalidDirectory,
  WalkDeps,
  WalkLimits,
  WalkStart,
  WatchedDirectory,
} from './walk-deps.ts'
import type { RestrictedPath } from './path-restriction.ts'
import { join } from './mount-table.ts'
import { hasInvalidBytes, quotePath, ViewRefusal } from './view-refusal.ts'
import { otherPaths } from './workspace.ts'

export const WALK_LIMITS: WalkLimits = {
  maxEntries: 1_000_000,
  maxDepth: 256,
  maxPathBytes: 3840,
  maxMs: 20_000,
}

export interface WalkedTree {
  readonly restricted: readonly RestrictedPath[]
  readonly watched: readonly WatchedDirectory[]
  readonly entries: number
  /** Directories that the walk does not enter. */
  readonly invalid: readonly InvalidDirectory[]
  /** Sentences for people about denies that the default mode holds only in part. */
  readonly warnings: readonly string[]
  /** Symbolic links that are denied themselves. Their ends are in `held`. */
  readonly hiddenLinks: readonly string[]
  /** Symbolic links with a name that is held against writing. They have no mask. */
  readonly restrictedLinks: readonly string[]
}

const ENTRIES_A_STEP = 512

/**
 * Finds every path below the start that is to be held, in one walk that follows no symbolic link
 * and reads only directories below which a rule may deny something. Takes O(entries).
 *
 * `next` throws `ViewRefusal` beyond a limit, and for a directory or a name that cannot be read.
 */
export function* walkWorkspace(start: WalkStart, deps: WalkDeps): Steps<WalkedTree> {
  const scan = new WorkspaceScan(start, deps)
  return yield* walk([rootOf(start, deps)], scan, start, deps)
}

/**
 * Finds restricted paths below one name in the directory of the start, which is new or has a new
 * object. `name` is in bytes as it was reported.
 */
export function* walkName(start: WalkStart, name: Buffer, deps: WalkDeps): Steps<WalkedTree> {
  const scan = new WorkspaceScan(start, deps)
  const directory = rootOf(start, deps)
  const text = name.toString('utf8')
  if (hasInvalidBytes(name)) {
    const status = deps.disk.status(Buffer.concat([Buffer.from(`${start.path}/`), name]))
    if (status !== null) scan.noteInvalid(directory, name, status.kind === 'directory')
    return { ...scan.result(), entries: 1 }
  }
  const status = deps.disk.status(join(start.path, `/${text}`))
  const below = status === null ? null : scan.note(directory, entryOf(text, status.kind))
  return yield* walk(below === null ? [] : [below], scan, start, deps)
}

function* walk(
  pending: Directory[],
  scan: WorkspaceScan,
  { workspace }: WalkStart,
  { disk, isKnown, limits, uptime }: WalkDeps,
): Steps<WalkedTree> {
  const untilMs = uptime() + limits.maxMs
  const refuse = (limit: string): never => {
    throw new ViewRefusal(
      `the workspace ${quotePath(workspace.path)} ${limit}; choose a smaller directory`,
    )
  }
  let entries = 0
  for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
    if (directory.depth > limits.maxDepth) refuse(`is deeper than ${limits.maxDepth} directories`)
    if (Buffer.byteLength(directory.path) > limits.maxPathBytes) {
      const path = quotePath(directory.path)
      refuse(`has the path ${path}, which is longer than ${limits.maxPathBytes} bytes`)
    }
    scan.watch(directory)
    const listing = yield* readDirectory(disk, directory, scan)
    scan.watchRepository(directory, listing.entries)
    scan.guardRepository(directory, listing.entries)
    for (const entry of listing.entries) {
      entries += 1
      if (entries % ENTRIES_A_STEP === 0) yield
      const below = scan.note(directory, entry)
      if (below !== null && isKnown?.(below.path) !== true) pending.push(below)
    }
    for (const { bytes, isDirectory } of listing.invalid)
      scan.noteInvalid(directory, bytes, isDirectory)
    entries += listing.invalid.length
    if (entries > limits.maxEntries) refuse(`has more than ${limits.maxEntries} entries to check`)
    if (uptime() > untilMs) refuse(`takes more than ${limits.maxMs / 1000} s to check`)
    yield
  }
  return { ...scan.result(), entries }
}

function rootOf({ workspace, path }: WalkStart, deps: WalkDeps): Directory {
  const { denies, guarded, isNewRepository } = deps
  const isGuarded = workspace.access === 'rw' && isNewRepository?.(path) !== true
  return {
    path,
    depth: 0,
    denials: [path, ...otherPaths(workspace, path)].map(denies.at),
    guard: isGuarded ? guarded.at(path) : null,
    isReadOnly: workspace.access === 'ro',
  }
}

/**
 * A directory that vanished meanwhile has no names. A closed directory of another user is closed to
 * the sandbox too, which runs as the same user as the agent; one of this user could be opened from
 * inside. Any other failure refuses the workspace.
 */
function* readDirectory(disk: ViewDisk, { path }: Directory, scan: WorkspaceScan): Steps<Listing> {
  try {
    return yield* disk.listInSteps(path)
  } catch (error) {
    const code = systemErrorCode(error)
    if (code === null) throw error
    if (code === 'ENOENT' || code === 'ENOTDIR') return EMPTY
    if (code === 'EACCES' && statusOrNull(disk, path)?.isOwn === false) {
      scan.warn(`${quotePath(path)} cannot be read and is not checked; it is of another user`)
      return EMPTY
    }
    throw new ViewRefusal(
      `the directory ${quotePath(path)} cannot be read (${code}), so its denied paths are unknown`,
      error,
    )
  }
}

const EMPTY: Listing = { entries: [], invalid: [] }

/** A directory entry for a status that was read alone. */
function entryOf(name: string, kind: ObjectStatus['kind']): DirectoryEntry {
  return {
    name,
    isDirectory: () => kind === 'directory',
    isFile: () => kind === 'file',
    isSymbolicLink: () => kind === 'link',
  }
}
