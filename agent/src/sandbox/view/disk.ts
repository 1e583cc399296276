import type { Steps } from '@palisade/policy-core'
import type { Dirent, Stats } from 'node:fs'
import {
  lstatSync,
  opendirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'
import { systemErrorCode } from '../../host/errors.ts'
import { hasInvalidBytes, quotePath, ViewRefusal } from './view-refusal.ts'

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
  /** Time at which the object was made, in milliseconds; 0 where the file system does not tell. */
  readonly bornMs: number
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
  /** Lists names in steps and in any order, for a directory of many names. */
  listInSteps(directory: string): Steps<Listing>
  /** Null when the path does not exist. Throws `ViewRefusal` for one that is too long. */
  status(path: string | Buffer): ObjectStatus | null
  /** The text of a symbolic link. */
  readLink(path: string): string
  /** The path without symbolic links. Throws `ENOENT` when it does not exist. */
  realPath(path: string): Buffer
  /** The mount table of this process. */
  mountTable(): Buffer
}

/** A directory of this size has some thousand names. Steps cost more for a small one. */
const LARGE_BYTES = 128 * 1024
const NAMES_A_STEP = 512

export function createViewDisk(): ViewDisk {
  return {
    list,
    *listInSteps(directory) {
      if (lstatSync(directory).size < LARGE_BYTES) return list(directory)
      return yield* listLarge(directory)
    },
    status(path) {
      const found = unlessMissing(() => statusAt(path))
      if (found === undefined) return null
      return {
        kind: kindOf(found),
        device: found.dev,
        inode: found.ino,
        isOwn: found.uid === process.geteuid?.(),
        links: found.nlink,
        size: found.size,
        changedMs: found.ctimeMs,
        bornMs: found.birthtimeMs,
      }
    },
    readLink: (path) => readlinkSync(path),
    realPath: (path) => realpathSync.native(path, { encoding: 'buffer' }),
    mountTable: () => readFileSync('/proc/self/mountinfo'),
  }
}

function statusAt(path: string | Buffer): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (error) {
    if (systemErrorCode(error) !== 'ENAMETOOLONG') throw error
    throw new ViewRefusal(`the path ${quotePath(path)} is too long`, error)
  }
}

function list(directory: string): Listing {
  const entries = readdirSync(directory, { withFileTypes: true })
  // Node puts U+FFFD into the place of invalid bytes.
  if (!entries.some(({ name }) => name.includes('\ufffd'))) return { entries, invalid: [] }
  const raw = readdirSync(Buffer.from(directory), { withFileTypes: true, encoding: 'buffer' })
  const listing = { entries: [] as DirectoryEntry[], invalid: [] as InvalidName[] }
  for (const entry of raw) addTo(listing, entry)
  return listing
}

function* listLarge(directory: string): Steps<Listing> {
  const opened = opendirSync(directory, { encoding: 'buffer' as never, bufferSize: NAMES_A_STEP })
  const listing = { entries: [] as DirectoryEntry[], invalid: [] as InvalidName[] }
  try {
    for (let count = 1; ; count += 1) {
      const entry = opened.readSync() as Dirent<Buffer> | null
      if (entry === null) return listing
      addTo(listing, entry)
      if (count % NAMES_A_STEP === 0) yield
    }
  } finally {
    opened.closeSync()
  }
}

function addTo(
  { entries, invalid }: { entries: DirectoryEntry[]; invalid: InvalidName[] },
  entry: Dirent<Buffer>,
): void {
  if (hasInvalidBytes(entry.name))
    invalid.push({ bytes: entry.name, isDirectory: entry.isDirectory() })
  else entries.push(withTextName(entry))
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

/** The status. Throws `ViewRefusal` when the agent cannot look: a command could open it again. */
export function statusOrRefuse(disk: Pick<ViewDisk, 'status'>, path: string): ObjectStatus | null {
  try {
    return disk.status(path)
  } catch (error) {
    const code = systemErrorCode(error)
    if (code === null) throw error
    throw new ViewRefusal(
      `${quotePath(path)} cannot be looked at (${code}); open its directory, or remove it`,
      error,
    )
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
