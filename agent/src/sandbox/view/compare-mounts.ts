import type { ObjectStatus, ViewDisk } from './disk.ts'
import {
  devicePathOf,
  join,
  mountsBelow,
  parseMountTable,
  restOf,
  type DevicePath,
  type MountEntry,
} from './mount-table.ts'
import type { Mount } from './mount.ts'
import {
  findUnplanned,
  isDevice,
  isNewFileSystem,
  NEW_ROOT,
  type NewFileSystems,
} from './new-file-systems.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'

/** A bind that a sandbox must have, with the object that was there when policy was asked. */
export interface ExpectedBind extends DevicePath {
  readonly target: string
  readonly isReadOnly: boolean
  /** The object itself, as `device:inode`; null for a mount below the source of a bind. */
  readonly identity: string | null
}

/** The mount table that a sandbox must have before its command starts. */
export interface ExpectedMounts extends NewFileSystems {
  readonly binds: readonly ExpectedBind[]
}

/** A sandbox that waits at its gate. */
export interface WaitingSandbox {
  readonly mountTable: Buffer
  /** The mount table of the host, read while the sandbox has all of its mounts. */
  readonly hostTable: Buffer
  /** Its root directory, such as `/proc/PID/root`. */
  readonly root: string
  readonly disk: Pick<ViewDisk, 'list' | 'status'>
}

export interface ExpectationDeps {
  readonly disk: Pick<ViewDisk, 'realPath' | 'status' | 'mountTable'>
  /** The agent's empty objects, which masks are binds of. */
  readonly emptyFile: string
  readonly emptyDirectory: string
  /** Real paths that policy was asked for. No link may lead from them to another object since. */
  readonly checked: ReadonlySet<string>
}

/** Reads the device, root and inode of every source. Throws `ViewRefusal` for one that is gone. */
export function expectMounts(mounts: readonly Mount[], deps: ExpectationDeps): ExpectedMounts {
  const table = parseMountTable(deps.disk.mountTable())
  const targets = (kind: Mount['kind']): ReadonlySet<string> =>
    new Set(mounts.filter((mount) => mount.kind === kind).map(({ target }) => target))
  return {
    binds: mounts.flatMap((mount) => expectBinds(mount, table, deps)),
    privates: targets('tmpfs'),
    proc: targets('proc'),
    dev: targets('dev'),
    targets: mounts.map(({ target }) => target),
  }
}

/**
 * Whether bubblewrap has made its last mount. It tells the process id of its child before, so the
 * agent has to ask until this is true. The last step turns the new root into the only root.
 */
export function hasAllMounts(mountTable: Buffer): boolean {
  const roots = parseMountTable(mountTable).filter(({ target }) => target === '/')
  return roots.length === 1 && roots[0]?.root === NEW_ROOT
}

/**
 * Compares the mounts of a sandbox with the expected ones. Returns null when they are equal, and
 * otherwise the first difference as a sentence.
 *
 * A directory that was replaced between the decision and the mount has another root or inode. A
 * mount that was not planned is refused whatever it shows.
 */
export function compareMounts(sandbox: WaitingSandbox, expected: ExpectedMounts): string | null {
  const { disk, root } = sandbox
  const table = parseMountTable(sandbox.mountTable)
  const hostDevices = new Set(parseMountTable(sandbox.hostTable).map(({ device }) => device))
  const actual = Map.groupBy(table, ({ target }) => target)
  const binds = Map.groupBy(expected.binds, ({ target }) => target)
  const isBind = (entry: MountEntry): boolean =>
    binds.get(entry.target)?.some((bind) => isSame(entry, bind)) === true
  const others = table.filter((entry) => !isBind(entry))
  const made = others.filter((entry) => isNewFileSystem(entry, expected, hostDevices))
  const stranger =
    others.find((entry) => !made.includes(entry) && !isDevice(entry, expected)) ??
    made.find((entry) => findUnplanned(entry, { disk, root, table, made: expected }) !== null)
  if (stranger !== undefined) return describeOther(stranger.target)
  for (const target of [...expected.privates, ...expected.proc, ...expected.dev])
    if (!actual.has(target)) return describeMissing(target)
  const open = [...expected.proc]
    .map((proc) => join(proc, '/sys'))
    .find((settings) => actual.get(settings)?.at(-1)?.isReadOnly !== true)
  if (open !== undefined) return `the mount ${quotePath(open)} is not read-only`
  const status = (path: string): ObjectStatus | null => disk.status(`${root}${path}`)
  for (const [target, planned] of binds) {
    const problem = compareTop(actual.get(target)?.at(-1), planned.at(-1), status)
    if (problem !== null) return problem
  }
  return null
}

/** Compares the mount that shows at a target with the last one that was planned there. */
function compareTop(
  top: MountEntry | undefined,
  last: ExpectedBind | undefined,
  status: (path: string) => ObjectStatus | null,
): string | null {
  if (last === undefined) return null
  const { identity, target } = last
  if (top === undefined) return describeMissing(target)
  if (!isSame(top, last)) return describeOther(target)
  if (identity === null || identityOf(status(target)) === identity) return null
  return `${quotePath(target)} was replaced after it was checked`
}

function describeOther(target: string): string {
  return `the mount ${quotePath(target)} is not the one that was checked`
}

function describeMissing(target: string): string {
  return `the mount ${quotePath(target)} is missing`
}

function expectBinds(
  mount: Mount,
  table: readonly MountEntry[],
  deps: ExpectationDeps,
): ExpectedBind[] {
  const { target } = mount
  switch (mount.kind) {
    case 'bind':
      return expectBind({ ...mount, isReadOnly: mount.access === 'ro' }, table, deps)
    case 'empty-file':
      return expectBind({ source: deps.emptyFile, target, isReadOnly: true }, table, deps)
    case 'empty-dir':
      return expectBind({ source: deps.emptyDirectory, target, isReadOnly: true }, table, deps)
    case 'tmpfs':
    case 'dir':
    case 'symlink':
    case 'proc':
    case 'dev':
      return []
  }
}

interface Bind {
  readonly source: string
  readonly target: string
  readonly isReadOnly: boolean
}

/** A bind brings the mounts below its source along. */
function expectBind(
  { source, target, isReadOnly }: Bind,
  table: readonly MountEntry[],
  { disk, checked }: ExpectationDeps,
): ExpectedBind[] {
  const real = realPathOf(source, disk)
  if (real !== source && checked.has(source))
    throw new ViewRefusal(`${quotePath(source)} was replaced after it was checked`)
  const found = devicePathOf(table, real)
  const identity = identityOf(disk.status(real))
  if (found === null || identity === null)
    throw new ViewRefusal(`${quotePath(source)} is gone; start the sandbox again`)
  const below = mountsBelow(table, real).map(({ device, root, target: inner }) => ({
    device,
    root,
    target: join(target, restOf(inner, real)),
    isReadOnly,
    identity: null,
  }))
  return [{ ...found, target, isReadOnly, identity }, ...below]
}

function realPathOf(source: string, disk: ExpectationDeps['disk']): string {
  try {
    return disk.realPath(source).toString('utf8')
  } catch (error) {
    throw new ViewRefusal(`${quotePath(source)} is gone; start the sandbox again`, error)
  }
}

function identityOf(status: ObjectStatus | null): string | null {
  return status === null ? null : `${status.device}:${status.inode}`
}

function isSame(entry: MountEntry, bind: ExpectedBind): boolean {
  return (
    entry.device === bind.device &&
    entry.root === bind.root &&
    (entry.isReadOnly || !bind.isReadOnly)
  )
}
