import type { Dirent } from 'node:fs'
import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { systemErrorCode } from '../../errors.ts'
import { hasInvalidBytes } from './view-refusal.ts'

/** The identity of an object, and the traits that the view needs. */
export interface ObjectStatus {
  readonly kind: 'directory' | 'file' | 'link' | 'special'
  readonly device: number
  readonly inode: number
  /** Whether the object belongs to the user of this process, who may change its mode. */
  readonly isOwn: boolean
  /** Number of names of the inode. */
  readonly links: number
  readonly size: number
  /** Time of the last change of the object, in milliseconds. */
  readonly changedMs: number
}

/** One name of a directory, with the kind of its object. */
export type DirectoryEntry = Pick<Dirent, 'name' | 'isDirectory' | 'isFile' | 'isSymbolicLink'>

/** Names of a directory. `invalid` holds those that are not UTF-8; they are not in `entries`. */
export interface Listing {
  readonly entries: readonly DirectoryEntry[]
  readonly invalid: readonly InvalidName[]
}

export interface InvalidName {
  readonly bytes: Buffer
  readonly isDirectory: boolean
}

/**
 * Bounded and synchronous reading of the file system, which never follows a symbolic link at the
 * end of a path and opens directories only. Errors are those of Node.
 */
export interface ViewDisk {
  list(directory: string): Listing
  /** Null when the path does not exist. */
  status(path: string | Buffer): ObjectStatus | null
  /** The text of a symbolic link. */
  readLink(path: string): string
  /** The path without symbolic links. Throws `ENOENT` when it does not exist. */
  realPath(path: string): Buffer
  /** The mount table of this process. */
  mountTable(): Buffer
}

export function createViewDisk(): ViewDisk {
  return {
    list(directory) {
      const entries = readdirSync(directory, { withFileTypes: true })
      // Node puts U+FFFD into the place of invalid bytes.
      if (!entries.some(({ name }) => name.includes('\ufffd'))) return { entries, invalid: [] }
      const raw = readdirSync(Buffer.from(directory), { withFileTypes: true, encoding: 'buffer' })
      return {
        entries: raw.filter(({ name }) => !hasInvalidBytes(name)).map(withTextName),
        invalid: raw
          .filter(({ name }) => hasInvalidBytes(name))
          .map((entry) => ({ bytes: entry.name, isDirectory: entry.isDirectory() })),
      }
    },
    status(path) {
      const found = unlessMissing(() => lstatSync(path, { throwIfNoEntry: false }))
      if (found === undefined) return null
      return {
        kind: kindOf(found),
        device: found.dev,
        inode: found.ino,
        isOwn: found.uid === process.geteuid?.(),
        links: found.nlink,
        size: found.size,
        changedMs: found.ctimeMs,
      }
    },
    readLink: (path) => readlinkSync(path),
    realPath: (path) => realpathSync.native(path, { encoding: 'buffer' }),
    mountTable: () => readFileSync('/proc/self/mountinfo'),
  }
}

/** The kind of an object that a directory entry or a status describes. */
export function kindOf(
  found: Pick<DirectoryEntry, 'isDirectory' | 'isFile' | 'isSymbolicLink'>,
): ObjectStatus['kind'] {
  if (found.isDirectory()) return 'directory'
  if (found.isFile()) return 'file'
  return found.isSymbolicLink() ? 'link' : 'special'
}

/** Undefined when the path, or a directory on it, has ceased to exist. */
export function unlessMissing<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    const code = systemErrorCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}

/** The real path; null when nothing is there, when it cannot be reached, or is not UTF-8. */
export function realPathOrNull(disk: Pick<ViewDisk, 'realPath'>, path: string): string | null {
  try {
    const real = disk.realPath(path)
    return hasInvalidBytes(real) ? null : real.toString('utf8')
  } catch (error) {
    if (systemErrorCode(error) === null) throw error
    return null
  }
}

/** The status; null also when the agent cannot look, which a sandbox of its user cannot either. */
export function statusOrNull(disk: Pick<ViewDisk, 'status'>, path: string): ObjectStatus | null {
  try {
    return disk.status(path)
  } catch (error) {
    if (systemErrorCode(error) === null) throw error
    return null
  }
}

function withTextName(entry: Dirent<Buffer>): DirectoryEntry {
  return {
    name: entry.name.toString('utf8'),
    isDirectory: () => entry.isDirectory(),
    isFile: () => entry.isFile(),
    isSymbolicLink: () => entry.isSymbolicLink(),
  }
}
