import { readFileSync } from 'node:fs'
import { systemErrorCode } from '../../host/errors.ts'

/** A mount of a mount namespace, from `/proc/PID/mountinfo` (proc_pid_mountinfo(5)). */
export interface MountEntry {
  readonly id: number
  readonly parent: number
  /** The device as `major:minor`. */
  readonly device: string
  /** The directory or file of the device that is mounted. */
  readonly root: string
  /** The mount point, as the process sees it. */
  readonly target: string
  readonly isReadOnly: boolean
  readonly isNoExec: boolean
  /** The type of the file system, such as `tmpfs`. */
  readonly type: string
}

/** A place on a device, whichever mount shows it. */
export interface DevicePath {
  readonly device: string
  readonly root: string
}

/** The process whose mounts were to be read has ended, and with it the sandbox. */
export class EndedError extends Error {}

/** A process that ends has no mount namespace any more; one that has ended has no files. */
const ENDED: readonly (string | null)[] = ['EINVAL', 'ENOENT', 'ESRCH']

/** Reads the mount table of the first process of a sandbox. Throws `EndedError` when it is gone. */
export function readMountTable(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    if (ENDED.includes(systemErrorCode(error))) throw new EndedError('the sandbox has ended')
    throw error
  }
}

/**
 * Parses the file, in the order of the kernel. Throws a `SyntaxError` for a line that it cannot
 * read, because a mount that is not understood must not be ignored.
 */
export function parseMountTable(text: Buffer): MountEntry[] {
  return text
    .toString('latin1')
    .split('\n')
    .filter((line) => line !== '')
    .map(parseLine)
}

/** The mounts of the table below the path, not at it. */
export function mountsBelow(table: readonly MountEntry[], path: string): MountEntry[] {
  return table.filter(({ target }) => target !== path && isWithin(target, path))
}

/**
 * The mount that shows a path. It is found from the root on, as the kernel does: a mount at a
 * longer prefix does not show the path when a later mount above it covers it.
 */
export function mountOf(table: readonly MountEntry[], path: string): MountEntry | null {
  let around = table.filter(({ target }) => isWithin(path, target))
  let found = firstMet(around)
  for (let next = found; next !== null;) {
    const { id, target } = next
    found = next
    // The parent of the root is out of sight, and a later mount may have its id.
    around = around.filter((entry) => entry !== found && isWithin(entry.target, target))
    next = firstMet(around.filter(({ parent }) => parent === id))
  }
  return found
}

/** The mount that a walk from the root meets first. */
function firstMet(mounts: readonly MountEntry[]): MountEntry | null {
  let first: MountEntry | null = null
  for (const entry of mounts)
    if (first === null || entry.target.length < first.target.length) first = entry
  return first
}

/** Where the object at a path is on its device; null without a mount that shows it. */
export function devicePathOf(table: readonly MountEntry[], path: string): DevicePath | null {
  const mount = mountOf(table, path)
  if (mount === null) return null
  return { device: mount.device, root: join(mount.root, restOf(path, mount.target)) }
}

/**
 * The other paths of the object at a path, because its device is also mounted elsewhere: with
 * `mount --bind /secret /work`, the path `/work/a` is also `/secret/a`.
 */
export function aliasesOf(table: readonly MountEntry[], path: string): string[] {
  const found = devicePathOf(table, path)
  if (found === null) return []
  const aliases = table
    .filter(({ device, root }) => device === found.device && isWithin(found.root, root))
    .map(({ root, target }) => join(target, restOf(found.root, root)))
    // A mount that another one covers does not show the path.
    .filter((alias) => {
      const shown = devicePathOf(table, alias)
      return shown?.device === found.device && shown.root === found.root
    })
  return [...new Set(aliases)].filter((alias) => alias !== path)
}

/** Whether a canonical path is the directory or lies below it. */
export function isWithin(path: string, directory: string): boolean {
  return directory === '/' || path === directory || path.startsWith(`${directory}/`)
}

/** The part of a path below a directory that it is within: empty, or starting with `/`. */
export function restOf(path: string, directory: string): string {
  if (directory === '/') return path === '/' ? '' : path
  return path.slice(directory.length)
}

export function join(directory: string, rest: string): string {
  if (rest === '') return directory
  return directory === '/' ? rest : `${directory}${rest}`
}

const FIELDS = /^(\d+) (\d+) (\d+:\d+) (\S+) (\S+) (\S+) .*?- (\S+) /

function parseLine(line: string): MountEntry {
  const [, id, parent, device, root, target, options, type] = FIELDS.exec(`${line} `) ?? []
  if (
    id === undefined ||
    parent === undefined ||
    device === undefined ||
    root === undefined ||
    target === undefined ||
    options === undefined ||
    type === undefined
  )
    throw new SyntaxError('a line of the mount table is unreadable')
  return {
    id: Number(id),
    parent: Number(parent),
    device,
    root: unescape(root),
    target: unescape(target),
    isReadOnly: options.split(',').includes('ro'),
    isNoExec: options.split(',').includes('noexec'),
    type,
  }
}

/** The kernel writes space, tab, newline and backslash as octal bytes. */
function unescape(field: string): string {
  const bytes = field.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCodePoint(Number.parseInt(octal, 8)),
  )
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
