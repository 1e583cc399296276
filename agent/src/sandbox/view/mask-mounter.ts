import type { ObjectStatus, ViewDisk } from './disk.ts'
import { mayBeLinked } from './hard-links.ts'
import type { RestrictedPath } from './path-restriction.ts'
import {
  devicePathOf,
  isWithin,
  mountOf,
  mountsBelow,
  parseMountTable,
  type MountEntry,
} from './mount-table.ts'
import type { MountCommand } from './mount-dialect.ts'
import type { MountShell } from './mount-shell.ts'
import { INNER_EMPTY_DIRECTORY, INNER_EMPTY_FILE } from './root-view.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'

export interface MaskMounterDeps {
  readonly disk: Pick<ViewDisk, 'status'>
  readonly shell: MountShell
  /** The mount table of a process of the sandbox. */
  readonly mountTable: () => Buffer
  /** See `GuardedView`. */
  readonly absent?: ReadonlySet<string> | undefined
  /** See `LiveGuardDeps`. */
  readonly isShown?: (path: string) => boolean
  /** Called before the object at a path is hidden. */
  readonly onHidden?: (path: string) => void
}

const NO_PATHS: ReadonlySet<string> = new Set()
/** Mounts of one sandbox at a time. A command that provokes more is ended. */
const MAX_MOUNTS = 3000
/**
 * Mounts over one name before it is given up. A program outside may replace the file while it is
 * masked, several times in a row.
 */
const MAX_TRIES = 64
/** Mounts over one name while its object stays. */
const MAX_FAILURES = 4

/** Mounts and renews the masks of a running sandbox. Knows the objects that they cover. */
export class MaskMounter {
  readonly #deps: MaskMounterDeps
  readonly #objects = new Map<
    string,
    { readonly masked: RestrictedPath; readonly object: string }
  >()
  /** Held files by inode, because a new name of such a file is held too. */
  readonly #files = new Map<string, RestrictedPath>()

  constructor(masked: readonly RestrictedPath[], deps: MaskMounterDeps) {
    this.#deps = deps
    for (const each of masked) this.#remember(each, deps.disk.status(each.path))
  }

  /** The restricted paths that are not masked already, by one look at the mounts. */
  unmasked(all: readonly RestrictedPath[]): readonly RestrictedPath[] {
    if (all.length === 0) return all
    const table = parseMountTable(this.#deps.mountTable())
    const isMasked = maskCheck(table)
    return all.filter((masked) => {
      const known = this.#objects.get(masked.path)
      const status = this.#deps.disk.status(masked.path)
      const isKnown =
        status !== null && known?.object === objectOf(status) && known.masked.level === masked.level
      return !isKnown || !isMasked(masked) || writableBelow(masked, table) !== null
    })
  }

  /**
   * Mounts until the sandbox shows the mask, or until the path is gone. Rejects with `ViewRefusal`
   * when neither comes true.
   */
  async mask(masked: RestrictedPath): Promise<void> {
    const { mountTable, shell } = this.#deps
    let failures = 0
    let last = ''
    for (let tries = 0; tries < MAX_TRIES && failures <= MAX_FAILURES; tries += 1) {
      const status = this.#coverable(masked)
      if (status === null) return
      if (masked.level === 'hidden') this.#deps.onHidden?.(masked.path)
      const table = parseMountTable(mountTable())
      const target = maskCheck(table)(masked) ? writableBelow(masked, table) : masked.path
      if (target === null) return this.#remember(masked, status)
      if (table.length > MAX_MOUNTS) throw excess()
      failures = objectOf(status) === last ? failures + 1 : 0
      last = objectOf(status)
      await shell.mount(commandOf(masked, status, { table, target }))
    }
    throw new ViewRefusal(`${quotePath(masked.path)} cannot be masked`)
  }

  /** How another name of a held file is to be held; null for any other object. */
  otherName(path: string): RestrictedPath | null {
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
    for (const [path, { masked, object }] of this.#objects) {
      const status = this.#deps.disk.status(path)
      if (status !== null && objectOf(status) !== object) await this.mask(masked)
    }
  }

  /**
   * Masks every path that shows through. At the start these are the masks beyond those of
   * bubblewrap, and later a new object may have the inode of the former.
   */
  async maskUncovered(): Promise<void> {
    const { mountTable, shell } = this.#deps
    const table = parseMountTable(mountTable())
    const uncovered = this.#uncovered(table)
    if (uncovered.length === 0) return
    if (table.length + uncovered.length > MAX_MOUNTS) throw excess()
    // Parents come first. Each mount is compared with the table only after the last one.
    await Promise.all(
      uncovered.map(({ masked, status }) =>
        shell.mount(commandOf(masked, status, { table, target: masked.path })),
      ),
    )
    for (const { masked } of this.#uncovered(parseMountTable(mountTable()))) await this.mask(masked)
  }

  #uncovered(
    table: readonly MountEntry[],
  ): readonly { readonly masked: RestrictedPath; readonly status: ObjectStatus }[] {
    const isMasked = maskCheck(table)
    return Array.from(this.#objects.values(), ({ masked }) => masked)
      .filter((masked) => !isMasked(masked))
      .flatMap((masked) => {
        const status = this.#coverable(masked)
        return status === null ? [] : [{ masked, status }]
      })
  }

  /** The object that needs a mask; null when the sandbox shows none. */
  #coverable(masked: RestrictedPath): ObjectStatus | null {
    const status = this.#deps.disk.status(masked.path)
    // A walk holds the end of a symbolic link, so the link itself has no mask.
    if (status === null || status.kind === 'link') return null
    if (!this.#isAbsent(masked.path)) return status
    // A later sweep finds a path that shows after all.
    this.#remember(masked, status)
    return null
  }

  /** Whether the sandbox does not show the path, as far as the host has it. */
  #isAbsent(path: string): boolean {
    const { absent = NO_PATHS, isShown } = this.#deps
    for (let at = path; at !== ''; at = at.slice(0, at.lastIndexOf('/')))
      if (absent.has(at)) return true
    return isShown?.(path) === false
  }

  #remember(masked: RestrictedPath, status: ObjectStatus | null): void {
    if (status === null) return
    const object = objectOf(status)
    this.#objects.set(masked.path, { masked, object })
    if (status.kind === 'file' && mayBeLinked(masked)) this.#files.set(object, masked)
  }
}

/** Returns whether a sandbox with these mounts sees the mask of a path. */
function maskCheck(table: readonly MountEntry[]): (masked: RestrictedPath) => boolean {
  const byTarget = Map.groupBy(table, ({ target }) => target)
  const empty = [INNER_EMPTY_FILE, INNER_EMPTY_DIRECTORY].map((path) => devicePathOf(table, path))
  return ({ path, level }) => {
    const around = [...parentsOf(path), path].flatMap((at) => byTarget.get(at) ?? [])
    const top = mountOf(around, path)
    if (top === null) return false
    if (level === 'read-only') return top.isReadOnly
    if (level === 'pinned') return top.target === path
    return empty.some((object) => object?.device === top.device && object.root === top.root)
  }
}

/** The directories above a path, outermost first. */
function parentsOf(path: string): readonly string[] {
  return path.split('/').map((_, index, names) => names.slice(0, index).join('/') || '/')
}

/** The mount of a mask. */
function commandOf(
  { level }: RestrictedPath,
  status: ObjectStatus,
  { table, target }: { readonly table: readonly MountEntry[]; readonly target: string },
): MountCommand {
  const source = level === 'hidden' ? innerEmpty(status) : target
  return {
    source,
    target,
    access: level === 'pinned' ? 'rw' : 'ro',
    isNoExec: mountOf(table, source)?.isNoExec === true,
  }
}

function excess(): ViewRefusal {
  return new ViewRefusal(`more than ${MAX_MOUNTS} mounts are needed`)
}

/** A mount that a new read-only one took along, and that is still writable; null without one. */
function writableBelow(
  { path, level }: RestrictedPath,
  table: readonly MountEntry[],
): string | null {
  if (level !== 'read-only') return null
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
