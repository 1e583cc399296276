import type { DenyPlace, PathDenies } from '@palisade/policy-core'
import { kindOf, realPathOrNull, statusOrNull, type DirectoryEntry, type ViewDisk } from './disk.ts'
import { leadsGitAway } from './git-takeover.ts'
import { GIT_ATTRIBUTES, GIT_PARTS } from './guarded-names.ts'
import { holdOf, type HeldPath, type Hold } from './held-path.ts'
import { join } from './mount-table.ts'
import {
  directoriesOfRepository,
  isRepository,
  isInRepository,
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
  /** Deals with a name that is to be held; absent means that it is. See `MadeNames`. */
  readonly meet?: (name: MadeName) => 'taken' | 'waits' | 'held'
  /** The same for a repository. Returns whether its parts are not to be held. */
  readonly meetRepository?: (path: string) => boolean
  /** Called before the names of such a directory are read. */
  readonly onWatched?: (directory: WatchedDirectory) => void
}

/** A name that a rule denies to write, or that other programs obey. */
export interface MadeName {
  readonly path: string
  /** `lead`: a file or link `.git`, which leads git to a repository. */
  readonly cause: 'denied' | 'guarded' | 'lead'
  /** Whether a rule denies to read it too. */
  readonly isHidden: boolean
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
  readonly #heldLinks: string[] = []

  constructor(start: WalkStart, deps: WalkDeps) {
    this.#start = start
    this.#deps = deps
  }

  /** Guarded names that appear later are looked for everywhere but inside of repositories. */
  watch(directory: Directory): void {
    const { path, places, guard } = directory
    const isGuarded = guard !== null && !isInRepository(path)
    if (isGuarded || places.some(({ mayDenyBelow }) => mayDenyBelow)) this.#watch(path)
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
    const { disk, isOpened, meetRepository } = this.#deps
    if (meetRepository?.(path) === true) return
    for (const entry of entries) {
      const part = join(path, `/${entry.name}`)
      if (GIT_PARTS.includes(entry.name) && !isOpened(part))
        this.#hold(part, entry, 'read-only', false)
    }
    const attributes = join(path, `/${GIT_ATTRIBUTES}`)
    if (statusOrNull(disk, attributes) !== null && !isOpened(attributes))
      this.#held.push({ path: attributes, hold: 'read-only', kind: 'file', isDenied: false })
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
    const path = join(directory.path, `/${entry.name}`)
    if (entry.isDirectory() && this.#start.others.has(path)) return null
    const places = this.#placesBelow(directory, entry.name, path)
    const guard = this.#guardBelow(directory, entry, path)
    const isHidden = places.some((place) => holdOf(place.denies) === 'hidden')
    const cause = directory.isReadOnly ? null : this.#causeOf(path, entry, places, guard)
    const met = this.#meet(path, cause, isHidden)
    if (met === 'taken') return null
    if (isHidden) {
      this.#hold(path, entry, 'hidden', true)
      return null
    }
    if (met === 'held') this.#holdFor(cause, path, entry, guard)
    if (!entry.isDirectory()) return null
    const isReadOnly = directory.isReadOnly || (met === 'held' && cause !== null)
    return directoryBelow(directory, {
      path,
      places,
      guard: isReadOnly || met === 'waits' ? null : guard,
      isReadOnly,
    })
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
    readonly heldLinks: readonly string[]
  } {
    return {
      held: this.#held,
      watched: this.#watched,
      warnings: this.#warnings,
      hiddenLinks: this.#hiddenLinks,
      heldLinks: this.#heldLinks,
    }
  }

  #guardBelow({ guard }: Directory, entry: DirectoryEntry, path: string): DenyPlace | null {
    const { guarded, isNewRepository, meetRepository } = this.#deps
    if (guard === null) return null
    if (entry.name === REPOSITORY && entry.isDirectory() && isNewRepository?.(path) === true) {
      meetRepository?.(path)
      return null
    }
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

  #meet(
    path: string,
    cause: MadeName['cause'] | null,
    isHidden: boolean,
  ): 'taken' | 'waits' | 'held' {
    return cause === null ? 'held' : (this.#deps.meet?.({ path, cause, isHidden }) ?? 'held')
  }

  /** Why the command must not make the name; null when it may. */
  #causeOf(
    path: string,
    entry: DirectoryEntry,
    places: readonly DenyPlace[],
    guard: DenyPlace | null,
  ): MadeName['cause'] | null {
    if (places.some(({ denies }) => denies.write)) return 'denied'
    if (guard === null) return null
    const isLead = entry.name === REPOSITORY && !entry.isDirectory()
    if (!guard.denies.write && !isLead) return null
    if (this.#deps.isOpened(path)) return null
    return isLead ? 'lead' : 'guarded'
  }

  #holdFor(
    cause: MadeName['cause'] | null,
    path: string,
    entry: DirectoryEntry,
    guard: DenyPlace | null,
  ): void {
    if (cause !== null) this.#hold(path, entry, 'read-only', cause === 'denied')
    // Renaming a directory `.git` would take its hooks away.
    else if (guard !== null && entry.name === REPOSITORY && !this.#deps.isOpened(path))
      this.#hold(path, entry, 'pinned', false)
    if (cause === 'guarded' && leadsGitAway(path, this.#deps.disk))
      this.warn(`${quotePath(path)} leads git to other settings; remove it if it is not yours`)
  }

  /** The hold applies to the object; a symbolic link is held at its end. */
  #hold(path: string, entry: DirectoryEntry, hold: Hold, isDenied: boolean): void {
    const kind = kindOf(entry)
    if (kind !== 'link') {
      this.#held.push({ path, hold, kind: kind === 'directory' ? kind : 'file', isDenied })
      return
    }
    const links = hold === 'hidden' ? this.#hiddenLinks : this.#heldLinks
    links.push(path)
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

/** The directory with its depth; null when nothing below it can be held. */
function directoryBelow({ depth }: Directory, below: Omit<Directory, 'depth'>): Directory | null {
  const mayHold =
    below.places.some(({ mayDenyBelow }) => mayDenyBelow) || below.guard?.mayDenyBelow === true
  return mayHold ? { ...below, depth: depth + 1 } : null
}
