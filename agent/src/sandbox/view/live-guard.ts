import type { PathDenies } from '@palisade/policy-core'
import type { watch as watchFile } from 'node:fs'
import { basename, dirname } from 'node:path'
import { setImmediate as pause } from 'node:timers/promises'
import { runInTurns } from '../../decision/run-in-turns.ts'
import type { WalkDeps, WalkStart, WatchedDirectory } from './findings.ts'
import { MadeNames, type KeptAside, type WaitingNames } from '../aside/made-names.ts'
import { isIndex } from '../aside/gitlinks.ts'
import { createLastDisk } from '../aside/last-disk.ts'
import { setAside } from '../aside/set-aside.ts'
import { leadsGitAway } from './git-takeover.ts'
import type { ViewDisk } from './disk.ts'
import type { GuardedView } from './guarded-view.ts'
import type { HeldPath } from './held-path.ts'
import { KeptMasks } from './kept-masks.ts'
import { literalHolds } from './literal-holds.ts'
import { reduceHolds } from './masks.ts'
import { EndedError, isWithin, join } from './mount-table.ts'
import type { MountShell } from './mount-shell.ts'
import { hasInvalidBytes, quotePath, ViewRefusal } from './view-refusal.ts'
import { walkName, walkWorkspace } from './walk.ts'
import {
  COMMON_DIRECTORY,
  isInRepository,
  newRepositories,
  REPOSITORY_MARKS,
} from './repository.ts'
import { createTaskQueue, type TaskQueue } from './task-queue.ts'
import { createWatches, isSameObject, type WatchableDirectory, type Watches } from './watches.ts'
import type { Workspace } from './workspace.ts'

export interface LiveGuardDeps {
  readonly walk: WalkDeps
  readonly shell: MountShell
  readonly watch: typeof watchFile
  /** The mount table of a process of the sandbox. */
  readonly mountTable: () => Buffer
  /** Called for each name that was taken away. */
  readonly onAside: (kept: KeptAside) => void
  readonly waiting: WaitingNames
  /** See `AsideDeps`. */
  readonly randomName: () => string
  /** Whether a strict sandbox shows a path; absent means that it shows those of the host. */
  readonly isShown?: (path: string) => boolean
  /** Ends the sandbox. Called once, with a sentence for people. */
  readonly end: (problem: string) => void
  /** Calls the listener every so often; returns a function that ends it. */
  readonly every: (intervalMs: number, listener: () => void) => () => void
}

/** A new policy, as far as running sandboxes are concerned. */
export interface Tightening {
  readonly denies: PathDenies
  /** Whether policy still opens the workspace with its access. */
  readonly isGranted: (workspace: Workspace) => boolean
}

export interface LiveGuard {
  /** Begins to watch. Rejects with `ViewRefusal` when it cannot; then nothing is watched. */
  start(): Promise<void>
  /**
   * Masks everything that the new policy denies. Resolves with the workspaces that it no longer
   * opens, for which the sandbox has to end. Masks of former denies stay.
   */
  tighten(policy: Tightening): Promise<readonly Workspace[]>
  /** Resolves when every event until now is dealt with. */
  settled(): Promise<void>
  /**
   * Ends the masking, waits for the end of all processes, and takes away what they left and
   * must not leave. Resolves with a sentence for people when a part of that could not be done.
   */
  finish(ended: Promise<void>): Promise<string | null>
  stop(): void
}

const WATCHES_A_TURN = 64
const SWEEP_MS = 500
/**
 * Events between two sweeps after which some may be lost: the queue of the kernel has 16,384 by
 * default, and Node does not tell when it overflows.
 */
const BUSY_EVENTS = 4096
/** A directory that changed so recently may change again without a new time stamp. */
const RECENT_MS = 1000

/**
 * Keeps the masks of a running sandbox. A program outside that saves a file by renaming a new one
 * over it takes the mask away, because a mask belongs to the object and not to the name.
 */
export function createLiveGuard(view: GuardedView, deps: LiveGuardDeps): LiveGuard {
  return new Guard(view, deps)
}

class Guard implements LiveGuard {
  readonly #view: GuardedView
  readonly #deps: LiveGuardDeps
  readonly #masks: KeptMasks
  readonly #watches: Watches
  readonly #aborter = new AbortController()
  readonly #roots: ReadonlySet<string>
  readonly #directories: ReadonlySet<string>
  readonly #made: MadeNames
  #walk: WalkDeps
  readonly #tasks: TaskQueue
  /** The mounts of the sandbox are gone, or are to go. */
  #isOver = false
  #endSweeps = (): void => {}

  constructor(view: GuardedView, deps: LiveGuardDeps) {
    this.#view = view
    this.#deps = deps
    // A task that fails ends the sandbox.
    this.#tasks = createTaskQueue(this.#aborter.signal, (error) => this.#fail(error))
    this.#masks = new KeptMasks(view.held, {
      ...deps,
      disk: deps.walk.disk,
      absent: view.absent,
    })
    this.#directories = new Set(view.watched.map(({ path }) => path))
    this.#made = new MadeNames({
      ...deps,
      disk: deps.walk.disk,
      isOpened: deps.walk.isOpened,
      held: view.held.map(({ path }) => path),
      directories: this.#directories,
      repositories: view.repositories,
      setAside: (path) => this.#setAside(path),
      end: (problem) => this.#end(problem),
    })
    for (const link of view.links) this.#made.know(link)
    this.#watches = createWatches({
      watch: deps.watch,
      every: deps.every,
      onName: (directory, name) => this.#enqueue(directory, name),
      onFault: (error) => this.#fail(error),
      onRest: () => this.#tasks.once('rest', () => this.#masks.maskReplaced()),
    })
    this.#walk = {
      ...deps.walk,
      // Git writes the settings of a new repository several times, and a command can bring one
      // whose settings are complete, so its guarded names are left alone.
      isNewRepository: newRepositories([...view.held, ...view.watched].map(({ path }) => path)),
      onWatched: (directory) => this.#watches.add(directory),
      meet: (name) => this.#made.meet(name),
      meetRepository: (path) => this.#made.meetRepository(path),
    }
    this.#roots = new Set(view.workspaces.map(({ path }) => path))
  }

  async start(): Promise<void> {
    try {
      for (const [index, directory] of this.#view.watched.entries()) {
        this.#watches.add(directory)
        if (index % WATCHES_A_TURN === 0) await pause()
      }
      for (const directory of this.#view.watched) this.#lookAgain(directory)
      for (const { path } of this.#view.held) this.#watchParent(path)
    } catch (error) {
      this.stop()
      throw error
    }
    this.#endSweeps = this.#deps.every(SWEEP_MS, () =>
      this.#tasks.once('sweep', () => this.#sweep()),
    )
    await this.settled()
    this.#made.begin()
  }

  async tighten({ denies, isGranted }: Tightening): Promise<readonly Workspace[]> {
    this.#tasks.once('tighten', async () => {
      this.#walk = { ...this.#walk, denies }
      await this.#walkAll({ ...this.#walk, meet: (name) => this.#made.meetUnderNewRules(name) })
      const { disk, uptime } = this.#walk
      const literals = literalHolds(this.#walk.denies, this.#view.areas, disk)
      await this.#hold(await runInTurns(literals, this.#aborter.signal, uptime))
    })
    await this.settled()
    return this.#view.workspaces.filter((workspace) => !isGranted(workspace))
  }

  async finish(ended: Promise<void>): Promise<string | null> {
    this.#isOver = true
    await ended
    // The kernel has each event by now, and a turn of the event loop reads them all.
    await pause()
    await pause()
    await this.settled()
    const mayLackEvents =
      this.#aborter.signal.aborted || this.#watches.isResting() || this.#isBusy()
    this.stop()
    if (!this.#made.hasBegun) return null
    const problems: string[] = []
    const onProblem = (problem: string): void => void problems.push(problem)
    const disk = createLastDisk({ ...this.#walk, directories: this.#directories, onProblem })
    const { signal } = new AbortController()
    this.#made.beginEnd()
    if (mayLackEvents) await this.#walkAll(lastWalk(this.#walk, disk), signal)
    await runInTurns(this.#made.end(disk, onProblem), signal, this.#walk.uptime)
    return problems[0] ?? null
  }

  settled(): Promise<void> {
    return this.#tasks.settled()
  }

  stop(): void {
    this.#aborter.abort()
    this.#endSweeps()
    this.#watches.close()
    this.#deps.shell.close()
  }

  /** A directory that changed since the walk may have names that the walk has not seen. */
  #lookAgain(directory: WatchedDirectory): void {
    const status = this.#walk.disk.status(directory.path)
    const isUnchanged =
      status?.inode === directory.inode &&
      status.changedMs === directory.changedMs &&
      status.changedMs < this.#view.walkedMs - RECENT_MS
    if (!isUnchanged) this.#enqueue(directory.path, null)
  }

  #watchParent(path: string): void {
    const parent = dirname(path)
    if (this.#watches.get(parent) !== undefined || this.#workspaceOf(parent) === undefined) return
    const status = this.#walk.disk.status(parent)
    if (status === null) return
    this.#watches.add({ path: parent, ...status })
    this.#enqueue(parent, null)
  }

  #enqueue(directory: string, name: Buffer | null): void {
    this.#tasks.once(`${directory}\0${name?.toString('latin1') ?? '\0'}`, () =>
      this.#inspect(directory, name),
    )
  }

  #fail(error: unknown): void {
    // The kernel has ended every process of it.
    if (error instanceof EndedError) {
      this.#isOver = true
      return
    }
    const reason = error instanceof Error ? error.message : String(error)
    this.#end(`the denied files of the sandbox cannot be kept hidden: ${reason}`)
  }

  #end(problem: string): void {
    if (this.#aborter.signal.aborted) return
    this.stop()
    this.#deps.end(problem)
  }

  #setAside(path: string): string | null {
    const workspace = this.#workspaceOf(path)
    const { denies, guarded } = this.#walk
    const isHeld = (to: string): boolean =>
      denies.at(to).denies.write || guarded.at(to).denies.write
    const { randomName } = this.#deps
    return workspace === undefined ? null : setAside(path, workspace, { isHeld, randomName })
  }

  /** Looks at one name of a directory, or at all of them. */
  async #inspect(directory: string, name: Buffer | null): Promise<void> {
    const workspace = this.#workspaceOf(directory)
    if (workspace === undefined) return
    const start = this.#startAt(workspace, directory)
    if (name === null)
      await this.#apply(walkWorkspace(start, { ...this.#walk, isKnown: this.#isWatched }))
    else await this.#inspectName(start, name)
  }

  async #inspectName(start: WalkStart, name: Buffer): Promise<void> {
    const { path: directory } = start
    const text = name.toString('utf8')
    // A directory reports its own move by its own name.
    if (this.#roots.has(directory) && basename(directory) === text) this.#requireWorkspaces()
    const path = join(directory, `/${text}`)
    if (leadsGitAway(path, this.#walk.disk) && !this.#walk.isOpened(path))
      return this.#made.refuseTakeover(path)
    if (this.#mayCompleteRepository(directory, text)) this.#enqueue(directory, null)
    if (!hasInvalidBytes(name) && this.#walk.disk.status(path) === null) {
      this.#watches.dropBelow(path)
      this.#masks.forgetBelow(path)
      return
    }
    await this.#apply(walkName(start, name, this.#walk))
    if (isIndex(text) && isInRepository(directory)) this.#made.refuseSubmodule()
    const otherName = this.#masks.otherName(path)
    if (otherName !== null) await this.#hold([otherName])
  }

  /** A directory becomes a repository by several names, of which each comes alone. */
  #mayCompleteRepository(directory: string, name: string): boolean {
    const isMark = REPOSITORY_MARKS.some((mark) => mark === name) || name === COMMON_DIRECTORY
    return isMark && !isInRepository(directory) && !this.#made.isRepository(directory)
  }

  async #apply(walk: ReturnType<typeof walkWorkspace>): Promise<void> {
    const former = this.#made.countRepositories()
    const { held } = await runInTurns(walk, this.#aborter.signal, this.#walk.uptime)
    if (this.#made.countRepositories() > former) this.#made.refuseSubmodule()
    await this.#hold(held)
  }

  async #hold(found: readonly HeldPath[]): Promise<void> {
    if (this.#isOver) return
    for (const held of reduceHolds(this.#view.areas, found)) {
      await this.#masks.mask(held)
      this.#watchParent(held.path)
    }
    // A mask stays on the object, and is kept up under its new name.
    for (const path of this.#made.takeHidden()) {
      const kind = this.#walk.disk.status(path)?.kind === 'directory' ? 'directory' : 'file'
      await this.#masks.mask({ path, hold: 'hidden', kind, isDenied: true })
    }
  }

  /** Finds replaced objects of which no event came. */
  async #sweep(): Promise<void> {
    if (this.#isOver) return
    if (!this.#deps.shell.isAlive) throw new ViewRefusal('the mount shell has ended')
    this.#requireWorkspaces()
    await this.#masks.maskUncovered()
    if (!this.#isBusy()) return
    this.#watches.dropUnless((directory) => this.#isThere(directory))
    await this.#walkAll()
  }

  #isBusy(): boolean {
    return this.#watches.takeCount() >= BUSY_EVENTS
  }

  readonly #isWatched = (path: string): boolean => {
    const directory = this.#watches.get(path)
    return directory !== undefined && this.#isThere(directory)
  }

  #isThere(directory: WatchableDirectory): boolean {
    const status = this.#walk.disk.status(directory.path)
    return status !== null && isSameObject(status, directory)
  }

  async #walkAll(deps: WalkDeps = this.#walk, signal = this.#aborter.signal): Promise<void> {
    for (const workspace of this.#view.workspaces) {
      const walk = walkWorkspace(this.#startAt(workspace, workspace.path), deps)
      await this.#hold((await runInTurns(walk, signal, deps.uptime)).held)
    }
  }

  /** The sandbox goes on with the directory that it has, whose path the agent would not know. */
  #requireWorkspaces(): void {
    for (const { path, device, inode } of this.#view.workspaces) {
      if (!this.#isThere({ path, device, inode }))
        throw new ViewRefusal(`the workspace ${quotePath(path)} was moved or replaced`)
    }
  }

  #workspaceOf(path: string): Workspace | undefined {
    return this.#view.workspaces.findLast((each) => isWithin(path, each.path))
  }

  #startAt(workspace: Workspace, path: string): WalkStart {
    return { workspace, path, others: this.#roots }
  }
}

/** A walk without watches that goes on whatever the command has made. */
function lastWalk({ onWatched: _watch, ...walk }: WalkDeps, disk: ViewDisk): WalkDeps {
  return { ...walk, disk, limits: { maxEntries: Infinity, maxDepth: Infinity, maxMs: Infinity } }
}
