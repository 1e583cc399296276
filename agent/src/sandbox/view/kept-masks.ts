import type { ObjectStatus, ViewDisk } from './disk.ts'
import type { HeldPath } from './held-path.ts'
import {
  devicePathOf,
  isWithin,
  mountOf,
  mountsBelow,
  parseMountTable,
  type MountEntry,
} from './mount-table.ts'
import type { MountShell } from './mount-shell.ts'
import { INNER_EMPTY_DIRECTORY, INNER_EMPTY_FILE } from './root-view.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'

export interface KeptMasksDeps {
  readonly disk: Pick<ViewDisk, 'status'>
  readonly shell: MountShell
  /** The mount table of a process of the sandbox. */
  readonly mountTable: () => Buffer
  /** See `GuardedView`. */
  readonly absent?: ReadonlySet<string> | undefined
  /** See `LiveGuardDeps`. */
  readonly isShown?: (path: string) => boolean
}

const NO_PATHS: ReadonlySet<string> = new Set()
/** Mounts of one sandbox at a time. A command that provokes more is ended. */
const MAX_MOUNTS = 1500
/**
 * Mounts over one name before it is given up. A program outside may replace the file while it is
 * masked, several times in a row.
 */
const MAX_TRIES = 64
/** The same while the object stays. */
const MAX_FAILURES = 4

/** The masks of a running sandbox, and the objects that they cover. */
export class KeptMasks {
  readonly #deps: KeptMasksDeps
  readonly #objects = new Map<string, { readonly held: HeldPath; readonly object: string }>()
  /** Denied files by inode, because a new name of such a file is held too. */
  readonly #files = new Map<string, HeldPath>()

  constructor(held: readonly HeldPath[], deps: KeptMasksDeps) {
    this.#deps = deps
    for (const each of held) this.#remember(each, deps.disk.status(each.path))
  }

  /**
   * Mounts until the sandbox shows the mask, or until the path is gone. Rejects with `ViewRefusal`
   * when neither comes true.
   */
  async mask(held: HeldPath): Promise<void> {
    const { mountTable, shell } = this.#deps
    let failures = 0
    let last = ''
    for (let tries = 0; tries < MAX_TRIES && failures <= MAX_FAILURES; tries += 1) {
      const status = this.#coverable(held)
      if (status === null) return
      const table = parseMountTable(mountTable())
      const target = isMasked(held, table) ? writableBelow(held, table) : held.path
      if (target === null) return this.#remember(held, status)
      if (table.length > MAX_MOUNTS)
        throw new ViewRefusal(`more than ${MAX_MOUNTS} mounts are needed`)
      failures = objectOf(status) === last ? failures + 1 : 0
      last = objectOf(status)
      const source = held.hold === 'hidden' ? innerEmpty(status) : target
      await shell.mount({
        source,
        target,
        access: held.hold === 'pinned' ? 'rw' : 'ro',
        isNoExec: mountOf(table, source)?.isNoExec === true,
      })
    }
    throw new ViewRefusal(`${quotePath(held.path)} cannot be masked`)
  }

  /** How another name of a denied file is to be held; null for any other object. */
  otherName(path: string): HeldPath | null {
    const status = this.#deps.disk.status(path)
    if (status?.kind !== 'file' || status.links < 2) return null
    const known = this.#files.get(objectOf(status))
    return known === undefined || known.path === path ? null : { ...known, path }
  }

  /** Forgets the masks at the path and below it, which the kernel has removed. */
  forgetBelow(path: string): void {
    for (const each of this.#objects.keys()) if (isWithin(each, path)) this.#objects.delete(each)
  }

  /** Masks every path again that has another object now. */
  async maskReplaced(): Promise<void> {
    for (const [path, { held, object }] of this.#objects) {
      const status = this.#deps.disk.status(path)
      if (status !== null && objectOf(status) !== object) await this.mask(held)
    }
  }

  /** Masks every path again that shows through; a new object may have the inode of the former. */
  async maskUncovered(): Promise<void> {
    const table = parseMountTable(this.#deps.mountTable())
    for (const [path, { held }] of this.#objects) {
      const isThere = this.#deps.disk.status(path) !== null
      if (isThere && !isMasked(held, table)) await this.mask(held)
    }
  }

  /** The object that needs a mask; null when the sandbox shows none. */
  #coverable(held: HeldPath): ObjectStatus | null {
    const status = this.#deps.disk.status(held.path)
    // A walk holds the end of a symbolic link, so the link itself has no mask.
    if (status === null || status.kind === 'link') return null
    if (!this.#isAbsent(held.path)) return status
    // A later sweep finds a path that shows after all.
    this.#remember(held, status)
    return null
  }

  /** Whether the sandbox does not show the path, as far as the host has it. */
  #isAbsent(path: string): boolean {
    const { absent = NO_PATHS, isShown } = this.#deps
    for (let at = path; at !== ''; at = at.slice(0, at.lastIndexOf('/')))
      if (absent.has(at)) return true
    return isShown?.(path) === false
  }

  #remember(held: HeldPath, status: ObjectStatus | null): void {
    if (status === null) return
    const object = objectOf(status)
    this.#objects.set(held.path, { held, object })
    if (held.isDenied && status.kind === 'file') this.#files.set(object, held)
  }
}

/** Whether a sandbox with these mounts sees the mask at the path. */
function isMasked({ path, hold }: HeldPath, table: readonly MountEntry[]): boolean {
  const top = mountOf(table, path)
  if (top === null) return false
  if (hold === 'read-only') return top.isReadOnly
  if (hold === 'pinned') return top.target === path
  return [INNER_EMPTY_FILE, INNER_EMPTY_DIRECTORY].some((inner) => {
    const empty = devicePathOf(table, inner)
    return empty?.device === top.device && empty.root === top.root
  })
}

/** A mount that a new read-only one took along, and that is still writable; null without one. */
function writableBelow({ path, hold }: HeldPath, table: readonly MountEntry[]): string | null {
  if (hold !== 'read-only') return null
  const isOpen = (mount: MountEntry): boolean =>
    !mount.isReadOnly && mountOf(table, mount.target) === mount
  return mountsBelow(table, path).find(isOpen)?.target ?? null
}

function innerEmpty({ kind }: ObjectStatus): string {
  return kind === 'directory' ? INNER_EMPTY_DIRECTORY : INNER_EMPTY_FILE
}

function objectOf({ device, inode }: ObjectStatus): string {
  return `${device}:${inode}`
}
