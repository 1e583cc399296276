import type { Steps } from '@palisade/policy-core'
import { dirname } from 'node:path'
import { statusOrNull, type ViewDisk } from '../view/disk.ts'
import type { MadeName } from '../view/walk-deps.ts'
import { leadsGitAway } from '../view/git-takeover.ts'
import { COMMON_DIRECTORY, REPOSITORY } from '../view/repository.ts'
import { quotePath, ViewRefusal } from '../view/view-refusal.ts'
import type { AsideCause, KeptAside } from './kept-aside.ts'
import { KnownNames, objectAt } from './known-names.ts'
import type { LastDisk } from './last-disk.ts'
import { endOfLead, partsOfRepository } from './made-repository.ts'
import { RepositoryIndices } from './repository-indices.ts'

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
  /** See `GuardedView`. */
  readonly placeholders: ReadonlySet<string>
  /** Repositories that were there. Their parts are held. */
  readonly repositories: readonly string[]
  readonly waiting: WaitingNames
  /** Names that waited for other sandboxes before the paths above were looked for. */
  readonly awaited: ReadonlySet<string>
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
  readonly #known: KnownNames
  /** The objects of repositories that were there. */
  readonly #before: ReadonlyMap<string, string | null>
  readonly #waiting = new Map<string, AsideCause>()
  readonly #repositories = new Map<string, AsideCause>()
  readonly #indices: RepositoryIndices
  #hasBegun = false
  #hasHiddenTree = false
  #isEnding = false
  #taken = 0

  constructor(deps: MadeNamesDeps) {
    this.#deps = deps
    this.#known = new KnownNames(deps.held, deps.disk)
    this.#before = new Map(deps.repositories.map((path) => [path, objectAt(path, deps.disk)]))
    this.#indices = new RepositoryIndices(deps.repositories, deps.disk)
    this.#awaitToo()
  }

  /** From now on the command may make names. */
  begin(): void {
    this.#hasBegun = true
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  get isEnding(): boolean {
    return this.#isEnding
  }

  /** Whether a new directory was hidden, so that the names below it are not known. */
  get hasHiddenTree(): boolean {
    return this.#hasHiddenTree
  }

  /** Keeps a name in its place, because it was there before its rule was. */
  know(path: string): void {
    this.#known.add(path)
  }

  /**
   * Deals with a name that is to be held. `taken`: it is gone. `waits`: it goes at the end. `held`:
   * it is to be masked.
   */
  meet(name: MadeName): 'taken' | 'waits' | 'held' {
    const { path, cause } = name
    if (!this.#hasBegun) this.know(path)
    if (!this.#isNew(path)) return 'held'
    if (path.endsWith(`/${COMMON_DIRECTORY}`)) {
      // That of a further working tree is looked at with the tree. A mask would keep git from
      // removing the tree.
      if (!leadsGitAway(path, this.#deps.disk)) return 'waits'
      if (!this.#isEnding) this.refuseTakeover(path)
    }
    if (this.#isToWait(name)) {
      this.#wait(path, this.#waiting, causeOf(cause))
      return 'waits'
    }
    this.#take(path, causeOf(cause))
    return 'taken'
  }

  #isToWait({ path, cause, isHidden }: MadeName): boolean {
    // Names below a hidden directory are looked for at the end.
    const isTree = isHidden && statusOrNull(this.#deps.disk, path)?.kind === 'directory'
    this.#hasHiddenTree ||= isTree
    const isInNew = cause === 'guarded' && !this.#isInOld(path)
    return this.#isEnding || cause === 'lead' || isInNew || isTree
  }

  /**
   * Meets a name after a change of policy: one that a rule denies now was there before the rule.
   */
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

  /** Ends the sandbox for an index by which git outside enters a new repository by itself. */
  *refuseSubmodule(): Steps<void> {
    const fault = yield* this.#indices.findFault()
    if (fault === null) return
    const { path, problem, isUnknown } = fault
    if (isUnknown) this.#deps.end(`${problem}, so that a new repository may be its submodule`)
    else this.#refuse(path, problem)
  }

  /** Notes a repository. Returns whether its parts wait, because it is new. */
  meetRepository(path: string): boolean {
    if (!this.#hasBegun || this.#isOld(path)) return false
    this.#wait(path, this.#repositories)
    return true
  }

  /** Whether the directory is a repository that was there, or that was met. */
  isRepository(path: string): boolean {
    return this.#isOld(path) || this.#repositories.has(path)
  }

  /** New directories, files and links `.git` until now. */
  countRepositories(): number {
    return this.#indices.madeCount
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
    for (const { path, problem } of yield* this.#indices.findLastFaults()) {
      onProblem(problem)
      take(path, 'repository')
    }
    for (const path of this.#newTrees(disk)) this.#wait(path, this.#repositories)
    const known = new Set([...this.#before.keys(), ...this.#repositories.keys()])
    yield* this.#endRepositories(known, disk, take)
    // A name below another one keeps its settings when only the upper one is renamed.
    for (const [path, cause] of [...this.#waiting].toSorted(lowestFirst)) {
      yield
      disk.openAbove(path)
      const isHarmless = isNamedRepository(path) && known.has(endOfLead(path, disk))
      if (this.#isLast(path) && !isHarmless) take(path, cause)
    }
    for (const path of [...this.#waiting.keys(), ...this.#repositories.keys()]) this.#leave(path)
  }

  /** Lets the names of other sandboxes wait for this one too, which could make them again. */
  #awaitToo(): void {
    const { awaited, held } = this.#deps
    for (const path of held) {
      if (!awaited.has(path)) continue
      if (this.#before.has(path)) this.#wait(path, this.#repositories)
      else this.#wait(path, this.#waiting, isNamedRepository(path) ? 'repository' : 'guarded')
    }
  }

  *#endRepositories(
    known: ReadonlySet<string>,
    disk: LastDisk,
    take: (path: string, cause: AsideCause) => void,
  ): Steps<void> {
    const { isOpened, placeholders } = this.#deps
    for (const path of this.#repositories.keys()) {
      if (!this.#isLast(path)) continue
      disk.openAbove(`${path}/`)
      const parts = yield* partsOfRepository(path, (end) => known.has(end), disk)
      for (const part of parts)
        if (!placeholders.has(part) && !isOpened(part)) take(part, 'repository')
    }
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
    return this.#hasBegun && !this.#known.has(path)
  }

  /** Whether the repository is the one that was there. */
  #isOld(path: string): boolean {
    return this.#before.has(path) && this.#before.get(path) === objectAt(path, this.#deps.disk)
  }

  /** Directories of working trees, which appear where nothing is watched. */
  #newTrees(disk: LastDisk): readonly string[] {
    return [...this.#before.keys()].flatMap((repository) => {
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

  #wait(path: string, to: Map<string, AsideCause>, cause: AsideCause = 'repository'): void {
    if (to.has(path)) return
    to.set(path, cause)
    if (isNamedRepository(path)) this.#indices.add(path)
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

function causeOf(cause: MadeName['cause']): AsideCause {
  return cause === 'lead' ? 'repository' : cause
}

function isNamedRepository(path: string): boolean {
  return path.endsWith(`/${REPOSITORY}`)
}

function lowestFirst([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? 1 : -1
}
