import type { PathDenies } from '@palisade/policy-core'
import type { watch as watchFile } from 'node:fs'
import { setImmediate as pause } from 'node:timers/promises'
import { runInTurns } from '../../policy/decision/run-in-turns.ts'
import { InvalidDirectories } from '../aside/invalid-directories.ts'
import { createLastDisk } from '../aside/last-disk.ts'
import type { KeptAside } from '../aside/kept-aside.ts'
import { MadeNames, type WaitingNames } from '../aside/made-names.ts'
import { setAside } from '../aside/set-aside.ts'
import type { WalkDeps, WatchedDirectory } from './walk-deps.ts'
import type { GuardedView } from './guarded-view.ts'
import { GuardedWorkspaces } from './guarded-workspaces.ts'
import type { HiddenObjects } from './hidden-objects.ts'
import { MaskMounter } from './mask-mounter.ts'
import { EndedError } from './mount-table.ts'
import type { MountShell } from './mount-shell.ts'
import { NameInspection } from './name-inspection.ts'
import { createTaskQueue, type TaskQueue } from './task-queue.ts'
import { ViewRefusal } from './view-refusal.ts'
import { createWatches, type Watches } from './watches.ts'
import { isReadDenied, type Workspace } from './workspace.ts'

export interface LiveGuardDeps {
  readonly walk: WalkDeps
  readonly shell: MountShell
  readonly watch: typeof watchFile
  /** The mount table of a process of the sandbox. */
  readonly mountTable: () => Buffer
  /** Called for each name that was taken away. */
  readonly onAside: (kept: KeptAside) => void
  readonly waiting: WaitingNames
  /** See `MadeNamesDeps`. */
  readonly awaited: ReadonlySet<string>
  /** Shared by all sandboxes. */
  readonly hidden: Pick<HiddenObjects, 'add' | 'find' | 'has' | 'settle'>
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
  readonly #masks: MaskMounter
  readonly #watches: Watches
  readonly #aborter = new AbortController()
  readonly #workspaces: GuardedWorkspaces
  readonly #directories: ReadonlySet<string>
  readonly #made: MadeNames
  readonly #inspection: NameInspection
  readonly #tasks: TaskQueue
  /** The mounts of the sandbox are gone, or are to go. */
  #isOver = false
  #endSweeps = (): void => {}

  constructor(view: GuardedView, deps: LiveGuardDeps) {
    this.#view = view
    this.#deps = deps
    const { disk, isOpened } = deps.walk
    // A task that fails ends the sandbox.
    this.#tasks = createTaskQueue(this.#aborter.signal, (error) => this.#fail(error))
    this.#masks = new MaskMounter(view.restricted, {
      ...deps,
      disk,
      absent: view.absent,
      onHidden: (path) => this.#noteHidden(path),
    })
    this.#workspaces = new GuardedWorkspaces(view.workspaces, disk)
    this.#directories = new Set(view.watched.map(({ path }) => path))
    this.#made = new MadeNames({
      ...deps,
      disk,
      isOpened,
      held: view.restricted.map(({ path }) => path),
      directories: this.#directories,
      placeholders: view.placeholders,
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
    this.#inspection = new NameInspection(view, {
      walk: deps.walk,
      hidden: deps.hidden,
      workspaces: this.#workspaces,
      masks: this.#masks,
      made: this.#made,
      invalid: new InvalidDirectories({
        ...deps,
        known: view.invalid,
        workspaceOf: (path) => this.#workspaces.of(path),
      }),
      watches: this.#watches,
      enqueue: (directory) => this.#enqueue(directory, null),
      isOver: () => this.#isOver,
      signal: this.#aborter.signal,
    })
  }

  async start(): Promise<void> {
    try {
      for (const [index, directory] of this.#view.watched.entries()) {
        this.#watches.add(directory)
        if (index % WATCHES_A_TURN === 0) await pause()
      }
      for (const directory of this.#view.watched) this.#lookAgain(directory)
      for (const { path } of this.#view.restricted) this.#inspection.watchParent(path)
      await this.#masks.maskUncovered()
    } catch (error) {
      this.stop()
      throw error
    }
    this.#endSweeps = this.#deps.every(SWEEP_MS, () =>
      this.#tasks.once('sweep', () => this.#sweep()),
    )
    await this.settled()
    await this.#inspection.requireStill()
    this.#made.begin()
  }

  async tighten({ denies, isGranted }: Tightening): Promise<readonly Workspace[]> {
    this.#tasks.once('tighten', () => this.#inspection.tighten(denies))
    await this.settled()
    return this.#view.workspaces.filter((workspace) => !isGranted(workspace))
  }

  async finish(ended: Promise<void>): Promise<string | null> {
    this.#isOver = true
    const problems: string[] = []
    const onProblem = (problem: string): void => void problems.push(problem)
    // No failure of one step may keep a name that another one takes away.
    const attempt = async (step: () => unknown): Promise<void> => {
      try {
        await step()
      } catch (error) {
        onProblem(`the files of the command were not checked to the end: ${reasonOf(error)}`)
      }
    }
    await attempt(() => ended)
    // The kernel has each event by now, and a turn of the event loop reads them all.
    await pause()
    await pause()
    await this.settled()
    const mayLackEvents =
      this.#aborter.signal.aborted ||
      this.#watches.isResting() ||
      this.#isBusy() ||
      this.#made.hasHiddenTree
    this.stop()
    if (!this.#made.hasBegun) return problems[0] ?? null
    const { walk } = this.#inspection
    const disk = createLastDisk({ ...walk, onProblem })
    const { signal } = new AbortController()
    this.#made.beginEnd()
    if (mayLackEvents) await attempt(() => this.#inspection.inspectLast(disk, signal))
    await attempt(() => this.#inspection.renameInvalid(disk, signal, onProblem))
    await attempt(() => runInTurns(this.#made.end(disk, onProblem), signal, walk.uptime))
    await attempt(() => disk.close())
    await attempt(() => this.#deps.hidden.settle(this))
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
    const status = this.#deps.walk.disk.status(directory.path)
    const isUnchanged =
      status?.inode === directory.inode &&
      status.changedMs === directory.changedMs &&
      status.changedMs < this.#view.walkedMs - RECENT_MS
    if (!isUnchanged) this.#enqueue(directory.path, null)
  }

  #enqueue(directory: string, name: Buffer | null): void {
    this.#tasks.once(`${directory}\0${name?.toString('latin1') ?? '\0'}`, () =>
      this.#inspection.inspect(directory, name),
    )
  }

  #fail(error: unknown): void {
    if (error instanceof EndedError) this.#isOver = true
    // The kernel has ended every process of it, also the shell that was about to mount.
    if (error instanceof EndedError || (this.#isOver && !this.#deps.shell.isAlive)) return
    this.#end(`the denied files of the sandbox cannot be kept hidden: ${reasonOf(error)}`)
  }

  #end(problem: string): void {
    if (this.#aborter.signal.aborted) return
    this.stop()
    this.#deps.end(problem)
  }

  #setAside(path: string): string | null {
    const workspace = this.#workspaces.of(path)
    const { denies, guarded } = this.#inspection.walk
    const isHeld = (to: string): boolean =>
      denies.at(to).denies.write || guarded.at(to).denies.write
    const { randomName } = this.#deps
    if (workspace === undefined) return null
    const isHidden = isReadDenied(denies, workspace, path)
    const to = setAside(path, workspace, { isHeld, isHidden, randomName })
    if (to !== null && isHidden) this.#noteHidden(to, true)
    return to
  }

  /** In a strict sandbox a command moves nothing on the host. */
  #noteHidden(path: string, stays = false): void {
    const workspace = this.#workspaces.of(path)
    if (workspace === undefined || this.#deps.isShown !== undefined) return
    this.#deps.hidden.add(this, path, workspace.path, stays)
  }

  /** Finds replaced objects of which no event came. */
  async #sweep(): Promise<void> {
    if (this.#isOver) return
    if (!this.#deps.shell.isAlive) throw new ViewRefusal('the mount shell has ended')
    this.#workspaces.requireAll()
    await this.#masks.maskUncovered()
    await this.#inspection.inspectIndices()
    if (!this.#isBusy()) return
    this.#watches.dropUnless((directory) => this.#workspaces.isThere(directory))
    await this.#inspection.inspectAll()
  }

  #isBusy(): boolean {
    return this.#watches.takeCount() >= BUSY_EVENTS
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
