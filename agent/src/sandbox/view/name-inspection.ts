import type { PathDenies } from '@palisade/policy-core'
import { basename, dirname } from 'node:path'
import { runInTurns } from '../../policy/decision/run-in-turns.ts'
import type { InvalidDirectories } from '../aside/invalid-directories.ts'
import type { LastDisk } from '../aside/last-disk.ts'
import type { MadeNames } from '../aside/made-names.ts'
import { isIndex } from '../aside/repository-indices.ts'
import type { ViewDisk } from './disk.ts'
import type { WalkDeps, WalkStart } from './walk-deps.ts'
import { leadsGitAway } from './git-takeover.ts'
import type { GuardedView } from './guarded-view.ts'
import type { GuardedWorkspaces } from './guarded-workspaces.ts'
import type { RestrictedPath } from './path-restriction.ts'
import type { HiddenObjects } from './hidden-objects.ts'
import type { MaskMounter } from './mask-mounter.ts'
import { exactRestrictions } from './exact-restrictions.ts'
import { reduceRestrictions } from './masks.ts'
import { join } from './mount-table.ts'
import {
  COMMON_DIRECTORY,
  isInRepository,
  newRepositories,
  REPOSITORY_MARKS,
} from './repository.ts'
import { hasInvalidBytes, quotePath, ViewRefusal } from './view-refusal.ts'
import { walkName, walkWorkspace } from './walk.ts'
import type { Watches } from './watches.ts'

export interface NameInspectionDeps {
  readonly walk: WalkDeps
  readonly hidden: Pick<HiddenObjects, 'find' | 'has'>
  readonly workspaces: GuardedWorkspaces
  readonly masks: MaskMounter
  readonly made: MadeNames
  readonly invalid: InvalidDirectories
  readonly watches: Watches
  /** Has all names of the directory inspected later. */
  readonly enqueue: (directory: string) => void
  /** Whether the mounts of the sandbox are gone, or are to go. */
  readonly isOver: () => boolean
  readonly signal: AbortSignal
}

/** Looks at names in the workspaces of a running sandbox, and holds those that a rule denies. */
export class NameInspection {
  readonly #view: GuardedView
  readonly #deps: NameInspectionDeps
  #walk: WalkDeps

  constructor(view: GuardedView, deps: NameInspectionDeps) {
    this.#view = view
    this.#deps = deps
    const { hidden, invalid, made, walk, watches } = deps
    this.#walk = {
      ...walk,
      isHiddenObject: (path) => hidden.has(path),
      // Git writes the settings of a new repository several times, and a command can bring one
      // whose settings are complete, so its guarded names are left alone.
      isNewRepository: newRepositories(
        [...view.restricted, ...view.watched].map(({ path }) => path),
      ),
      onWatched: (directory) => watches.add(directory),
      meet: (name) => made.meet(name),
      meetRepository: (path) => made.meetRepository(path),
      meetInvalid: (found) => {
        invalid.meet(found)
        return made.isEnding
      },
    }
  }

  /** The walks of now. */
  get walk(): WalkDeps {
    return this.#walk
  }

  /** Looks at one name of a directory, or at all of them. */
  async inspect(directory: string, name: Buffer | null): Promise<void> {
    const { workspaces } = this.#deps
    const workspace = workspaces.of(directory)
    if (workspace === undefined) return
    const start = workspaces.startAt(workspace, directory)
    if (name === null)
      await this.#apply(walkWorkspace(start, { ...this.#walk, isKnown: this.#isWatched }))
    else await this.#inspectName(start, name)
  }

  /** Looks at all names, by the new denies from now on. */
  async tighten(denies: PathDenies): Promise<void> {
    const { made, signal } = this.#deps
    this.#walk = { ...this.#walk, denies }
    await this.inspectAll({ ...this.#walk, meet: (name) => made.meetUnderNewRules(name) })
    const { disk, uptime } = this.#walk
    const literals = exactRestrictions(denies, this.#view.areas, disk)
    await this.#restrict(await runInTurns(literals, signal, uptime))
  }

  /** Looks at all names of all workspaces. */
  async inspectAll(walk: WalkDeps = this.#walk, signal = this.#deps.signal): Promise<void> {
    const { workspaces } = this.#deps
    for (const workspace of workspaces.all) {
      const steps = walkWorkspace(workspaces.startAt(workspace, workspace.path), walk)
      await this.#restrict((await runInTurns(steps, signal, walk.uptime)).restricted)
    }
  }

  /** Inspects all names by a walk without watches that goes on whatever the command has made. */
  async inspectLast(disk: ViewDisk, signal: AbortSignal): Promise<void> {
    await this.inspectAll(this.#lastWalk(disk), signal)
  }

  /** Renames directories of the command with names that are not UTF-8, and looks into them. */
  async renameInvalid(
    disk: LastDisk,
    signal: AbortSignal,
    onProblem: (problem: string) => void,
  ): Promise<void> {
    const { invalid, workspaces } = this.#deps
    const walk = this.#lastWalk(disk)
    for (let paths = invalid.takeMet(disk, onProblem); paths.length > 0;) {
      for (const path of paths) {
        const workspace = workspaces.of(path)
        if (workspace === undefined) continue
        const start = workspaces.startAt(workspace, dirname(path))
        const steps = walkName(start, Buffer.from(basename(path)), walk)
        await runInTurns(steps, signal, walk.uptime)
      }
      paths = invalid.takeMet(disk, onProblem)
    }
  }

  /** The command of another sandbox may have moved an object behind the first walk. */
  async requireStill(): Promise<void> {
    const { hidden, signal } = this.#deps
    const { denies, uptime } = this.#walk
    const found = await runInTurns(hidden.find(this.#view.workspaces, denies), signal, uptime)
    const moved = found.find(({ path }) => !this.#view.hidden.includes(path))
    if (moved !== undefined)
      throw new ViewRefusal(
        `${quotePath(moved.path)}, which another sandbox hides, was moved while this one ` +
          'started; start it again',
      )
  }

  #lastWalk(disk: ViewDisk): WalkDeps {
    const { onWatched: _watch, ...walk } = this.#walk
    const all = Infinity
    const limits = { maxEntries: all, maxDepth: all, maxPathBytes: all, maxMs: all }
    return { ...walk, disk, limits, entersHidden: true }
  }

  /** Looks for new repositories that git enters by an index, as long as the command runs. */
  async inspectIndices(): Promise<void> {
    if (!this.#deps.isOver())
      await runInTurns(this.#deps.made.refuseSubmodule(), this.#deps.signal, this.#walk.uptime)
  }

  /** Watches the directory of a held path, in which its name may get another object. */
  watchParent(path: string): void {
    const { enqueue, watches, workspaces } = this.#deps
    const parent = dirname(path)
    if (watches.get(parent) !== undefined || workspaces.of(parent) === undefined) return
    const status = this.#walk.disk.status(parent)
    if (status === null) return
    watches.add({ path: parent, ...status })
    enqueue(parent)
  }

  async #inspectName(start: WalkStart, name: Buffer): Promise<void> {
    const { enqueue, made, masks, watches, workspaces } = this.#deps
    const { path: directory } = start
    const text = name.toString('utf8')
    // A directory reports its own move by its own name.
    if (workspaces.has(directory) && basename(directory) === text) workspaces.requireAll()
    const path = join(directory, `/${text}`)
    if (leadsGitAway(path, this.#walk.disk) && !this.#walk.isOpened(path))
      return made.refuseTakeover(path)
    if (this.#mayCompleteRepository(directory, text)) enqueue(directory)
    if (!hasInvalidBytes(name) && this.#walk.disk.status(path) === null) {
      watches.dropBelow(path)
      masks.forgetBelow(path)
      return
    }
    await this.#apply(walkName(start, name, this.#walk))
    if (isIndex(text) && isInRepository(directory)) await this.inspectIndices()
    const otherName = masks.otherName(path)
    if (otherName !== null) await this.#restrict([otherName])
  }

  /** A directory becomes a repository by several names, and each comes alone. */
  #mayCompleteRepository(directory: string, name: string): boolean {
    const isMark = REPOSITORY_MARKS.some((mark) => mark === name) || name === COMMON_DIRECTORY
    return isMark && !isInRepository(directory) && !this.#deps.made.isRepository(directory)
  }

  async #apply(walk: ReturnType<typeof walkWorkspace>): Promise<void> {
    const { made, signal } = this.#deps
    const former = made.countRepositories()
    const { restricted } = await runInTurns(walk, signal, this.#walk.uptime)
    if (made.countRepositories() > former) await this.inspectIndices()
    await this.#restrict(restricted)
  }

  async #restrict(found: readonly RestrictedPath[]): Promise<void> {
    const { isOver, masks } = this.#deps
    if (isOver()) return
    const reduced = reduceRestrictions(this.#view.areas, found)
    for (const restricted of masks.unmasked(reduced)) await masks.mask(restricted)
    for (const { path } of reduced) this.watchParent(path)
  }

  readonly #isWatched = (path: string): boolean => {
    const directory = this.#deps.watches.get(path)
    return directory !== undefined && this.#deps.workspaces.isThere(directory)
  }
}
