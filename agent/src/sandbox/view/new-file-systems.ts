import { unlessMissing, type Listing, type ViewDisk } from './disk.ts'
import { isWithin, join, mountOf, restOf, type MountEntry } from './mount-table.ts'

/** Where bubblewrap makes file systems for one sandbox. */
export interface NewFileSystems {
  readonly privates: ReadonlySet<string>
  readonly proc: ReadonlySet<string>
  readonly dev: ReadonlySet<string>
  /** All paths that are made in the view. */
  readonly targets: readonly string[]
}

/** The directory of its own file system that bubblewrap makes the root. */
export const NEW_ROOT = '/newroot'

/**
 * Whether a mount shows a file system that bubblewrap made for this sandbox.
 *
 * `hostDevices` are those of the host at the time of `entry`. The kernel gives the number of a file
 * system that is gone to the next one, so a number that the host had earlier may belong to a new
 * one. Two file systems that exist never share a number, and the mount keeps its own in existence.
 */
export function isNewFileSystem(
  entry: MountEntry,
  { privates, proc, dev }: NewFileSystems,
  hostDevices: ReadonlySet<string>,
): boolean {
  const { device, root, target, type } = entry
  if (hostDevices.has(device)) return false
  switch (type) {
    case 'tmpfs':
      if (target === '/') return root === NEW_ROOT
      return root === '/' && (privates.has(target) || dev.has(target))
    case 'devpts':
      return root === '/' && [...dev].some((directory) => target === `${directory}/pts`)
    // Bubblewrap binds settings of the kernel onto themselves.
    case 'proc':
      return [...proc].some((directory) => isWithin(target, directory))
    default:
      return false
  }
}

/** Whether a mount shows a harmless device of the host in the new directory of devices. */
export function isDevice({ root, target, type }: MountEntry, { dev }: NewFileSystems): boolean {
  return [...dev].some((directory) =>
    target === `${directory}/console`
      ? TERMINALS.get(type)?.test(root) === true
      : DEVICES.test(root) && target === `${directory}${root}`,
  )
}

/**
 * The first object in a new file system that bubblewrap did not make there; null without one. A
 * file system that the host gave up after it was taken along has no device of the host any more,
 * but its content.
 */
export function findUnplanned(
  { root, target, type }: MountEntry,
  view: {
    readonly table: readonly MountEntry[]
    readonly made: NewFileSystems
    /** The root directory of the view, such as `/proc/PID/root`. */
    readonly root: string
    readonly disk: Pick<ViewDisk, 'list'>
  },
): string | null {
  const mount = mountOf(view.table, target)
  const isShown = mount?.type === type && mount.target === target && mount.root === root
  if (!isShown || (type === 'proc' && root !== '/')) return null
  const { dev, targets } = view.made
  const isPlanned = (path: string): boolean => {
    if (type === 'proc') return !OTHER_PROCESS.test(restOf(path, target))
    if (type === 'devpts') return path === `${target}/ptmx`
    if (dev.has(target) && DEVICE_NAMES.test(restOf(path, target))) return true
    return targets.some((each) => isWithin(each, path))
  }
  const mounted = new Set(view.table.map((entry) => entry.target))
  const search = (directory: string): string | null => {
    const listing = unlessMissing(() => view.disk.list(`${view.root}${directory}`))
    if (listing === undefined || listing.invalid.length > 0) return directory
    return firstOf(listing, (entry) => {
      const path = join(directory, `/${entry.name}`)
      if (!isPlanned(path)) return path
      const isOwn = type === 'tmpfs' && entry.isDirectory() && !mounted.has(path)
      return isOwn ? search(path) : null
    })
  }
  return search(target)
}

function firstOf(
  { entries }: Listing,
  find: (entry: Listing['entries'][number]) => string | null,
): string | null {
  for (const entry of entries) {
    const found = find(entry)
    if (found !== null) return found
  }
  return null
}

/** The devices that bubblewrap binds from the `/dev` of the host. */
const DEVICES = /^\/(?:null|zero|full|random|urandom|tty)$/
/** All that bubblewrap makes in its `/dev`. */
const DEVICE_NAMES =
  /^\/(?:null|zero|full|random|urandom|tty|console|ptmx|pts|shm|fd|core|std(?:in|out|err))$/
/**
 * The terminals by the type of their file system that bubblewrap binds as `console` when its
 * standard output is one, which the command has as well.
 */
const TERMINALS: ReadonlyMap<string, RegExp> = new Map([
  ['devpts', /^\/\d+$/],
  ['devtmpfs', /^\/(?:tty\w+|console)$/],
])
/** The process that waits at the gate is the first and only one of its namespace. */
const OTHER_PROCESS = /^\/(?!1$)\d+$/
