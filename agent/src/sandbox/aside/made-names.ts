import type { Steps } from '@palisade/policy-core'
import { dirname } from 'node:path'
import { statusOrNull, type ObjectStatus, type ViewDisk } from '../view/disk.ts'
import type { MadeName } from '../view/findings.ts'
import { leadsGitAway } from '../view/git-takeover.ts'
import { isWithin } from '../view/mount-table.ts'
import { COMMON_DIRECTORY, REPOSITORY } from '../view/repository.ts'
import { quotePath, ViewRefusal } from '../view/view-refusal.ts'
import type { LastDisk } from './last-disk.ts'
import { submodulesOf } from './gitlinks.ts'
import { endOfLead, partsOfRepository } from './made-repository.ts'

/** Why a name was taken away. */
export type AsideCause = 'denied' | 'guarded' | 'repository'

/** A name that the command made, and the path at which people find it. */
export interface KeptAside {
  readonly path: string
  readonly aside: string
  readonly cause: AsideCause
}

/**
 * Names that wait for the end of sandboxes, with the number of these. A name in a workspace of
 * several waits for the last one.
 */
export type WaitingNames = Map<string, number>

export interface MadeNamesDeps {
  readonly disk: ViewDisk
  /** Paths that were held at the start, and directories that were there. */
  readonly held: Iterable<string>
  readonly directories: ReadonlySet<string>
  /** Repositories that were there. Their parts are held. */
  readonly repositories: readonly string[]
  readonly waiting: WaitingNames
  /** Whether a rule opens a guarded path by its name. */
  readonly isOpened: (path: string) => boolean
  /** See `setAside`. */
  readonly setAside: (path: string) => string | null
  readonly onAside: (kept: KeptAside) => void
  /** Ends the sandbox, with a sentence for people. */
  readonly end: (problem: string) => void
}

/** Names that are taken away from one sandbox. A command that makes more is ended. */
const MAX_TAKEN = 500

/**
 * The names of one sandbox that are not to be left where they came into being. No program tells who
 * made a name, so it counts as made by the command when it was not there before.
 *
 * A guarded name in a directory that is new itself, and the parts of a new repository, wait for the
 * end: git and package managers write such trees as a whole, and programs outside have no business
 * there yet.
 */
export class MadeNames {
  readonly #deps: MadeNamesDeps
  /** Null for an object with a mask, else the object of a symbolic link, which has none. */
  readonly #known: Map<string, string | null>
  readonly #before: ReadonlySet<string>
  readonly #waiting = new Map<string, AsideCause>()
  readonly #repositories = new Map<string, AsideCause>()
  readonly #namedRepositories: string[] = []
  /** Denied names that are masked first, because they would show under another name. */
  #hidden: Pick<KeptAside, 'path' | 'cause'>[] = []
  #hasBegun = false
  #isEnding = false
  #taken = 0

  constructor(deps: MadeNamesDeps) {
    this.#deps = deps
    this.#known = new Map(Array.from(deps.held, (path) => [path, null]))
    this.#before = new Set(deps.repositories)
  }

  /** From now on the command may make names. */
  begin(): void {
    this.#hasBegun = true
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Keeps a name in its place, because it was there before its rule was. */
  know(path: string): void {
    this.#known.set(path, this.#linkAt(path))
  }

  /**
   * Deals with a name that is to be held. `taken`: it is gone. `waits`: it goes at the end. `held`:
   * it is to be masked.
   */
  meet({ path, cause, isHidden }: MadeName): 'taken' | 'waits' | 'held' {
    if (!this.#hasBegun) this.know(path)
    if (!this.#isNew(path)) return 'held'
    if (path.endsWith(`/${COMMON_DIRECTORY}`)) {
      // That of a further working tree is looked at with the tree.
      if (!leadsGitAway(path, this.#deps.disk)) return 'held'
      if (!this.#isEnding) this.refuseTakeover(path)
    }
    if (this.#isEnding || cause === 'lead' || (cause === 'guarded' && !this.#isInOld(path))) {
      this.#wait(path, this.#waiting, cause === 'lead' ? 'repository' : cause)
      return 'waits'
    }
    if (isHidden) {
      this.#hidden.push({ path, cause })
      return 'held'
    }
    this.#take(path, cause)
    return 'taken'
  }

  /** The same after a change of policy: a name that a rule denies now was there before the rule. */
  meetUnderNewRules(name: MadeName): ReturnType<MadeNames['meet']> {
    if (name.cause === 'denied') this.know(name.path)
    return this.meet(name)
  }

  /**
   * Ends the sandbox for a file that leads git to other settings. The file may be gone already: a
   * command could show it to git for a moment, again and again.
   */
  refuseTakeover(path: string): void {
    this.#refuse(
      path,
      `the command made ${quotePath(path)}, with which git outside the sandbox would obey other ` +
        'settings',
    )
  }

  /** Ends the sandbox for a new repository that git outside enters by itself. */
  refuseSubmodule(): void {
    const path = this.#linkedRepository()
    if (path === null) return
    this.#refuse(
      path,
      `the index of your repository names ${quotePath(path)}, which the command made, so that ` +
        'git outside the sandbox would obey its settings',
    )
  }

  /** Notes a repository. Returns whether its parts wait, because it is new. */
  meetRepository(path: string): boolean {
    if (!this.#hasBegun || this.#before.has(path)) return false
    this.#wait(path, this.#repositories)
    return true
  }

  /** Whether the directory is a repository that was there, or that was met. */
  isRepository(path: string): boolean {
    return this.#before.has(path) || this.#repositories.has(path)
  }

  /** New directories, files and links `.git` until now. */
  countRepositories(): number {
    return this.#namedRepositories.length
  }

  /** Takes the denied names away that have their masks now. Returns their new paths. */
  takeHidden(): readonly string[] {
    const hidden = this.#hidden
    this.#hidden = []
    return hidden.flatMap(({ path, cause }) => this.#take(path, cause) ?? [])
  }

  /** From now on names wait for `end`, one of which that cannot be taken away stops no other. */
  beginEnd(): void {
    this.#isEnding = true
  }

  /**
   * Takes away the names that waited. Call it when no process of the sandbox is left. A name that
   * cannot be taken away gives a sentence for people.
   */
  *end(disk: LastDisk, onProblem: (problem: string) => void): Steps<void> {
    const take = (path: string, cause: AsideCause): void => {
      try {
        disk.openAbove(path)
        this.#take(path, cause)
      } catch (error) {
        if (!(error instanceof ViewRefusal)) throw error
        onProblem(error.message)
      }
    }
    for (const { path, cause } of this.#hidden.splice(0)) take(path, cause)
    for (const path of this.#newTrees(disk)) this.#wait(path, this.#repositories)
    const known = new Set([...this.#before, ...this.#repositories.keys()])
    for (const path of this.#repositories.keys()) {
      if (!this.#isLast(path)) continue
      disk.openAbove(`${path}/`)
      const parts = yield* partsOfRepository(path, (end) => known.has(end), disk)
      for (const part of parts) if (!this.#deps.isOpened(part)) take(part, 'repository')
    }
    for (const [path, cause] of [...this.#waiting].toSorted(byPath)) {
      yield
      disk.openAbove(path)
      const isHarmless = isNamedRepository(path) && known.has(endOfLead(path, disk))
      if (this.#isLast(path) && !isHarmless) take(path, cause)
    }
    for (const path of [...this.#waiting.keys(), ...this.#repositories.keys()]) this.#leave(path)
  }

  /** The new repository, or lead to one, that the index of an old one names as a submodule. */
  #linkedRepository(): string | null {
    for (const repository of [...this.#before].filter(isNamedRepository)) {
      const around = this.#namedRepositories.filter((path) => isWithin(path, dirname(repository)))
      if (around.length === 0) continue
      const submodules = submodulesOf(repository, this.#deps.disk)
      const isLinked = (path: string): boolean =>
        submodules === 'unknown' || submodules.includes(dirname(path))
      const linked = around.find(isLinked)
      if (linked !== undefined) return linked
    }
    return null
  }

  #refuse(path: string, problem: string): void {
    const aside = this.#take(path, 'repository')
    this.#deps.end(aside === null ? problem : `${problem}; it is at ${quotePath(aside)} now`)
  }

  /** Returns the new path; null when the object is gone. */
  #take(path: string, cause: AsideCause): string | null {
    const aside = this.#deps.setAside(path)
    if (aside === null) return null
    // A pattern may match every name that is left for it.
    this.know(aside)
    this.#deps.onAside({ path, aside, cause })
    this.#taken += 1
    if (this.#taken === MAX_TAKEN)
      this.#deps.end(`the command made more than ${MAX_TAKEN} names that it must not leave`)
    return aside
  }

  #isNew(path: string): boolean {
    if (!this.#hasBegun) return false
    const link = this.#known.get(path)
    return link === undefined || (link !== null && link !== this.#linkAt(path))
  }

  /** Directories of working trees, which appear where nothing is watched. */
  #newTrees(disk: LastDisk): readonly string[] {
    return [...this.#before].flatMap((repository) => {
      const trees = `${repository}/worktrees`
      if (statusOrNull(disk, trees)?.kind !== 'directory') return []
      const paths = disk.list(trees).entries.map(({ name }) => `${trees}/${name}`)
      return paths.filter((path) => !this.#before.has(path))
    })
  }

  /** Whether the directory of the path was there at the start. */
  #isInOld(path: string): boolean {
    return this.#deps.directories.has(dirname(path))
  }

  #linkAt(path: string): string | null {
    const status = statusOrNull(this.#deps.disk, path)
    return status?.kind === 'link' ? objectOf(status) : null
  }

  #wait(path: string, to: Map<string, AsideCause>, cause: AsideCause = 'repository'): void {
    if (to.has(path)) return
    to.set(path, cause)
    if (isNamedRepository(path)) this.#namedRepositories.push(path)
    const { waiting } = this.#deps
    waiting.set(path, (waiting.get(path) ?? 0) + 1)
  }

  #leave(path: string): void {
    const { waiting } = this.#deps
    const others = (waiting.get(path) ?? 0) - 1
    if (others > 0) waiting.set(path, others)
    else waiting.delete(path)
  }

  #isLast(path: string): boolean {
    return (this.#deps.waiting.get(path) ?? 0) <= 1
  }
}

function isNamedRepository(path: string): boolean {
  return path.endsWith(`/${REPOSITORY}`)
}

function byPath([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

function objectOf({ device, inode }: ObjectStatus): string {
  return `${device}:${inode}`
}
