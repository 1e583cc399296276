import type { DenyPlace, PathDenies } from '@palisade/policy-core'
import { kindOf, realPathOrNull, type DirectoryEntry, type ViewDisk } from './disk.ts'
import { leadsGitAway } from './git-takeover.ts'
import { GIT_PARTS } from './guarded-names.ts'
import { holdOf, type HeldPath, type Hold } from './held-path.ts'
import { join } from './mount-table.ts'
import {
  directoriesOfRepository,
  isRepository,
  isRepositoryDirectory,
  isWholeRepository,
  REPOSITORY_MARK,
  REPOSITORY,
} from './repository.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'
import type { Workspace } from './workspace.ts'

/** Limits of one walk. Beyond them the workspace is refused, because a part of it is unknown. */
export interface WalkLimits {
  readonly maxEntries: number
  readonly maxDepth: number
  readonly maxMs: number
}

/** A directory in which a new name may be denied. */
export interface WatchedDirectory {
  readonly workspace: Workspace
  readonly path: string
  readonly device: number
  readonly inode: number
  /** Time of its last change, read before its names were. */
  readonly changedMs: number
}

export interface WalkDeps {
  readonly disk: ViewDisk
  readonly denies: PathDenies
  /** The guarded names. They apply in writable workspaces. */
  readonly guarded: PathDenies
  /** Whether a rule opens a guarded path by its name. */
  readonly isOpened: (path: string) => boolean
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  readonly limits: WalkLimits
  /** Whether the path is in a repository that the guarded names leave alone. */
  readonly isNewRepository?: (path: string) => boolean
  /** Directories that the walk does not enter. */
  readonly isKnown?: (path: string) => boolean
  /** Called before the names of such a directory are read. */
  readonly onWatched?: (directory: WatchedDirectory) => void
}

/** A directory that a walk has to read. */
export interface WalkStart {
  readonly workspace: Workspace
  readonly path: string
  /** Paths of other workspaces, which have walks of their own. */
  readonly others: ReadonlySet<string>
}

/** A directory on the way of a walk. */
export interface Directory {
  readonly path: string
  readonly depth: number
  readonly places: readonly DenyPlace[]
  readonly guard: DenyPlace | null
  /** Whether a directory above is read-only already. */
  readonly isReadOnly: boolean
}

/** The findings of one walk. */
export class Findings {
  readonly #start: WalkStart
  readonly #deps: WalkDeps
  readonly #held: HeldPath[] = []
  readonly #watched: WatchedDirectory[] = []
  readonly #warnings: string[] = []
  readonly #hiddenLinks: string[] = []

  constructor(start: WalkStart, deps: WalkDeps) {
    this.#start = start
    this.#deps = deps
  }

  /** Guarded names that appear later are looked for at the top, and in repositories. */
  watch(directory: Directory): void {
    const { path, places, guard } = directory
    const isTop = guard !== null && path === this.#start.workspace.path
    if (isTop || places.some(({ mayDenyBelow }) => mayDenyBelow)) this.#watch(path)
  }

  /** The directories below a repository change with every command of git, and are not watched. */
  watchRepository({ path, guard }: Directory, entries: readonly DirectoryEntry[]): void {
    if (guard === null) return
    const names = new Set(entries.map(({ name }) => name))
    const isNamed = isRepositoryDirectory(path) && names.has(REPOSITORY_MARK)
    if (isNamed || isWholeRepository(names)) this.#watch(path)
  }

  /** Holds the parts of a repository under any name, such as a bare one or one of a submodule. */
  guardRepository({ path, guard }: Directory, entries: readonly DirectoryEntry[]): void {
    if (guard === null || !isRepository(new Set(entries.map(({ name }) => name)))) return
    const { isOpened } = this.#deps
    for (const entry of entries) {
      const part = join(path, `/${entry.name}`)
      if (GIT_PARTS.includes(entry.name) && !isOpened(part))
        this.#hold(part, entry, 'read-only', false)
    }
    for (const kept of directoriesOfRepository(path, this.#start.workspace.path))
      if (!isOpened(kept))
        this.#held.push({ path: kept, hold: 'pinned', kind: 'directory', isDenied: false })
  }

  #watch(path: string): void {
    const status = this.#deps.disk.status(path)
    if (status?.kind !== 'directory') return
    const { device, inode, changedMs } = status
    const { workspace } = this.#start
    const directory: WatchedDirectory = { workspace, path, device, inode, changedMs }
    this.#watched.push(directory)
    this.#deps.onWatched?.(directory)
  }

  /** Notes the entry if it is held. Returns the directory that is to be read next, or null. */
  note(directory: Directory, entry: DirectoryEntry): Directory | null {
    const { name } = entry
    const isDirectory = entry.isDirectory()
    const path = join(directory.path, `/${name}`)
    if (isDirectory && this.#start.others.has(path)) return null
    const places = this.#placesBelow(directory, name, path)
    const guard = this.#guardBelow(directory, entry, path)
    const isHidden = places.some((place) => holdOf(place.denies) === 'hidden')
    if (isHidden) {
      this.#hold(path, entry, 'hidden', true)
      return null
    }
    const isReadOnly = directory.isReadOnly || this.#noteReadOnly(path, entry, places, guard)
    if (!isDirectory) return null
    const mayHoldBelow =
      places.some(({ mayDenyBelow }) => mayDenyBelow) ||
      (guard?.mayDenyBelow === true && !isReadOnly)
    if (!mayHoldBelow) return null
    return {
      path,
      depth: directory.depth + 1,
      places,
      guard: isReadOnly ? null : guard,
      isReadOnly,
    }
  }

  /** A mask cannot name such a path, so a deny of it cannot be held. */
  refuseIfDenied(directory: Directory, bytes: Buffer, isDirectory: boolean): void {
    const name = bytes.toString('utf8')
    const places = directory.places.map((place) => this.#deps.denies.below(place, name))
    const isDenied = places.some(({ denies, mayDenyBelow }) => {
      const hold = holdOf(denies)
      return (
        hold === 'hidden' ||
        (hold !== null && !directory.isReadOnly) ||
        (isDirectory && mayDenyBelow)
      )
    })
    if (!isDenied) return
    const path = Buffer.concat([Buffer.from(`${directory.path}/`), bytes])
    throw new ViewRefusal(
      `${quotePath(path)} is not UTF-8, and a rule may deny it; rename it, or move it out of the ` +
        'workspace',
    )
  }

  warn(warning: string): void {
    this.#warnings.push(warning)
  }

  result(): {
    readonly held: readonly HeldPath[]
    readonly watched: readonly WatchedDirectory[]
    readonly warnings: readonly string[]
    readonly hiddenLinks: readonly string[]
  } {
    return {
      held: this.#held,
      watched: this.#watched,
      warnings: this.#warnings,
      hiddenLinks: this.#hiddenLinks,
    }
  }

  #guardBelow({ guard }: Directory, entry: DirectoryEntry, path: string): DenyPlace | null {
    const { guarded, isNewRepository } = this.#deps
    if (guard === null) return null
    if (entry.name === REPOSITORY && entry.isDirectory() && isNewRepository?.(path) === true)
      return null
    return guarded.below(guard, entry.name)
  }

  #placesBelow(directory: Directory, name: string, path: string): readonly DenyPlace[] {
    const { denies } = this.#deps
    const [first] = directory.places
    const places =
      directory.places.length === 1 && first !== undefined
        ? [denies.below(first, name)]
        : directory.places.map((place) => denies.below(place, name))
    const { mounted } = this.#start.workspace
    if (mounted.size === 0) return places
    return [...places, ...(mounted.get(path) ?? []).map(denies.at)]
  }

  #noteReadOnly(
    path: string,
    entry: DirectoryEntry,
    places: readonly DenyPlace[],
    guard: DenyPlace | null,
  ): boolean {
    if (places.some((place) => holdOf(place.denies) !== null)) {
      this.#hold(path, entry, 'read-only', true)
      return true
    }
    if (guard === null) return false
    if (guard.denies.write && !this.#deps.isOpened(path)) {
      this.#hold(path, entry, 'read-only', false)
      if (leadsGitAway(path, this.#deps.disk))
        this.warn(`${quotePath(path)} leads git to other settings; remove it if it is not yours`)
      return true
    }
    if (entry.name !== REPOSITORY || this.#deps.isOpened(path)) return false
    // Renaming a directory `.git` would take its hooks away; a file `.git` names the directory.
    this.#hold(path, entry, entry.isDirectory() ? 'pinned' : 'read-only', false)
    return false
  }

  /** The hold applies to the object; a symbolic link is held at its end. */
  #hold(path: string, entry: DirectoryEntry, hold: Hold, isDenied: boolean): void {
    const kind = kindOf(entry)
    if (kind !== 'link') {
      this.#held.push({ path, hold, kind: kind === 'directory' ? kind : 'file', isDenied })
      return
    }
    if (hold === 'hidden') this.#hiddenLinks.push(path)
    const { disk } = this.#deps
    const real = realPathOrNull(disk, path)
    const status = real === null ? null : disk.status(real)
    if (real !== null && status !== null)
      this.#held.push({
        path: real,
        hold,
        kind: status.kind === 'directory' ? 'directory' : 'file',
        isDenied,
      })
    if (hold !== 'hidden')
      this.#warnings.push(
        `${quotePath(path)} is a symbolic link; the sandbox can replace it, but not write its end`,
      )
  }
}
