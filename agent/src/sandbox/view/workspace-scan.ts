import type { DenyPlace } from '@palisade/policy-core'
import { isHiddenAside } from '../aside/set-aside.ts'
import { statusOrNull, statusOrRefuse, type DirectoryEntry } from './disk.ts'
import { FoundRestrictions } from './found-restrictions.ts'
import { leadsGitAway } from './git-takeover.ts'
import { GIT_ATTRIBUTES, GIT_PARTS, isAboveGuarded } from './guarded-names.ts'
import { restrictionOf } from './path-restriction.ts'
import { join } from './mount-table.ts'
import {
  directoriesOfRepository,
  isRepository,
  isInRepository,
  isRepositoryDirectory,
  isWholeRepository,
  marksIn,
  REPOSITORY_MARK,
  REPOSITORY,
} from './repository.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'
import type {
  InvalidDirectory,
  MadeName,
  WalkDeps,
  WalkStart,
  WatchedDirectory,
} from './walk-deps.ts'

/** A directory on the way of a walk. */
export interface Directory {
  readonly path: string
  readonly depth: number
  readonly denials: readonly DenyPlace[]
  readonly guard: DenyPlace | null
  /** Whether a directory above is read-only already. */
  readonly isReadOnly: boolean
}

/** Collects the restricted paths of one walk through a workspace. */
export class WorkspaceScan {
  readonly #start: WalkStart
  readonly #deps: WalkDeps
  readonly #found: FoundRestrictions
  readonly #watched: WatchedDirectory[] = []
  readonly #invalid: InvalidDirectory[] = []

  constructor(start: WalkStart, deps: WalkDeps) {
    this.#start = start
    this.#deps = deps
    this.#found = new FoundRestrictions(deps.disk)
  }

  /** Guarded names that appear later are looked for everywhere but inside of repositories. */
  watch(directory: Directory): void {
    const { path, denials, guard } = directory
    const isGuarded = guard !== null && !isInRepository(path)
    if (isGuarded || denials.some(({ mayDenyBelow }) => mayDenyBelow)) this.#watch(path)
  }

  /** The directories below a repository change with every command of git, and are not watched. */
  watchRepository({ path, guard }: Directory, entries: readonly DirectoryEntry[]): void {
    if (guard === null) return
    const names = marksIn(entries)
    const isNamed = isRepositoryDirectory(path) && names.has(REPOSITORY_MARK)
    if (isNamed || isWholeRepository(names)) this.#watch(path)
  }

  /** Holds the parts of a repository under any name, such as a bare one or one of a submodule. */
  guardRepository({ path, guard }: Directory, entries: readonly DirectoryEntry[]): void {
    if (guard === null || !isRepository(marksIn(entries))) return
    const { disk, isOpened, meetRepository } = this.#deps
    if (meetRepository?.(path) === true) return
    for (const entry of entries) {
      const part = join(path, `/${entry.name}`)
      if (GIT_PARTS.includes(entry.name) && !isOpened(part))
        this.#found.addEntry(part, entry, 'read-only', false)
    }
    const attributes = join(path, `/${GIT_ATTRIBUTES}`)
    if (statusOrNull(disk, attributes) !== null && !isOpened(attributes))
      this.#found.add({ path: attributes, level: 'read-only', kind: 'file', isDenied: false })
    for (const kept of directoriesOfRepository(path, this.#start.workspace.path))
      if (!isOpened(kept))
        this.#found.add({ path: kept, level: 'pinned', kind: 'directory', isDenied: false })
  }

  #watch(path: string): void {
    const status = statusOrRefuse(this.#deps.disk, path)
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
    const denials = this.#denialsBelow(directory, entry.name, path)
    const guard = this.#guardBelow(directory, entry, path)
    const isDenied = denials.some((denial) => restrictionOf(denial.denies) === 'hidden')
    const guards = { above: directory.guard, own: guard }
    const cause = directory.isReadOnly ? null : this.#causeOf(path, entry, denials, guards)
    const met = this.#meet(path, cause, isDenied)
    if (met === 'taken') return null
    const isHidden = isDenied || this.#isOnceHidden(path, entry)
    if (isHidden) this.#found.addEntry(path, entry, 'hidden', isDenied)
    else if (met === 'held') this.#restrict(cause, path, entry, guard)
    if (!entry.isDirectory() || (isHidden && !this.#entersHidden(met))) return null
    const isReadOnly = met === 'held' && cause !== null
    return directoryBelow(directory, { path, denials, guard, isReadOnly })
  }

  /** Whether the name or the object was hidden before, and no rule need deny the path. */
  #isOnceHidden(path: string, entry: DirectoryEntry): boolean {
    if (isHiddenAside(path)) return true
    return !entry.isSymbolicLink() && this.#deps.isHiddenObject?.(path) === true
  }

  #entersHidden(met: 'taken' | 'waits' | 'held'): boolean {
    return met !== 'held' && this.#deps.entersHidden === true
  }

  /** Notes a name that is not UTF-8. A mask cannot name such a path. */
  noteInvalid(directory: Directory, bytes: Buffer, isDirectory: boolean): void {
    if (isDirectory && !directory.isReadOnly) {
      const found = { directory: directory.path, bytes }
      if (this.#deps.meetInvalid?.(found) === true) return
      this.#invalid.push(found)
    }
    this.#refuseIfDenied(directory, bytes, isDirectory)
  }

  #refuseIfDenied(directory: Directory, bytes: Buffer, isDirectory: boolean): void {
    const name = bytes.toString('utf8')
    const denials = directory.denials.map((denial) => this.#deps.denies.below(denial, name))
    const isDenied = denials.some(({ denies, mayDenyBelow }) => {
      const level = restrictionOf(denies)
      return (
        level === 'hidden' ||
        (level !== null && !directory.isReadOnly) ||
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
    this.#found.warn(warning)
  }

  result(): ReturnType<FoundRestrictions['result']> & {
    readonly watched: readonly WatchedDirectory[]
    readonly invalid: readonly InvalidDirectory[]
  } {
    return { ...this.#found.result(), watched: this.#watched, invalid: this.#invalid }
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

  #denialsBelow(directory: Directory, name: string, path: string): readonly DenyPlace[] {
    const { denies } = this.#deps
    const [first] = directory.denials
    const denials =
      directory.denials.length === 1 && first !== undefined
        ? [denies.below(first, name)]
        : directory.denials.map((denial) => denies.below(denial, name))
    const { mounted } = this.#start.workspace
    if (mounted.size === 0) return denials
    return [...denials, ...(mounted.get(path) ?? []).map(denies.at)]
  }

  #meet(
    path: string,
    cause: MadeName['cause'] | null,
    isHidden: boolean,
  ): 'taken' | 'waits' | 'held' {
    return cause === null ? 'held' : (this.#deps.meet?.({ path, cause, isHidden }) ?? 'held')
  }

  /** Whether the entry is a link in place of a directory with guarded names. */
  #isAboveGuarded(above: DenyPlace | null, entry: DirectoryEntry): boolean {
    const isLink = above !== null && entry.isSymbolicLink()
    return isLink && isAboveGuarded(this.#deps.guarded, above, entry.name)
  }

  /** Why the command must not make the name; null when it may. */
  #causeOf(
    path: string,
    entry: DirectoryEntry,
    denials: readonly DenyPlace[],
    { above, own }: { readonly above: DenyPlace | null; readonly own: DenyPlace | null },
  ): MadeName['cause'] | null {
    if (denials.some(({ denies }) => denies.write)) return 'denied'
    if (own === null) return null
    const isLead = entry.name === REPOSITORY && !entry.isDirectory()
    if (!own.denies.write && !isLead && !this.#isAboveGuarded(above, entry)) return null
    if (this.#deps.isOpened(path)) return null
    return isLead ? 'lead' : 'guarded'
  }

  #restrict(
    cause: MadeName['cause'] | null,
    path: string,
    entry: DirectoryEntry,
    guard: DenyPlace | null,
  ): void {
    // Its end is no guarded path.
    if (cause === 'guarded' && guard?.denies.write !== true) this.#found.addLink(path)
    else if (cause !== null) this.#found.addEntry(path, entry, 'read-only', cause === 'denied')
    // Renaming a directory `.git` would take its hooks away.
    else if (guard !== null && entry.name === REPOSITORY && !this.#deps.isOpened(path))
      this.#found.addEntry(path, entry, 'pinned', false)
    if (cause === 'guarded' && leadsGitAway(path, this.#deps.disk))
      this.warn(`${quotePath(path)} leads git to other settings; remove it if it is not yours`)
  }
}

/** The directory with its depth; null when nothing below it can be held. */
function directoryBelow(above: Directory, below: Omit<Directory, 'depth'>): Directory | null {
  const isReadOnly = above.isReadOnly || below.isReadOnly
  const guard = isReadOnly ? null : below.guard
  const mayHold =
    below.denials.some(({ mayDenyBelow }) => mayDenyBelow) || guard?.mayDenyBelow === true
  return mayHold ? { ...below, guard, isReadOnly, depth: above.depth + 1 } : null
}
