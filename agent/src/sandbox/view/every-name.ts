import { systemErrorCode } from '../../host/errors.ts'
import { statusOrNull, type DirectoryEntry, type Listing, type ViewDisk } from './disk.ts'
import { join } from './mount-table.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'

/** A name below a directory. */
export interface FoundName {
  readonly path: string
  /** Null for a directory whose name is not UTF-8, in the directory at `path`. */
  readonly entry: DirectoryEntry | null
}

/**
 * All names below a directory, without those in directories whose names are not UTF-8. `next`
 * throws `ViewRefusal` for a directory that cannot be read, unless another user closed it: it is
 * closed to sandboxes too.
 */
export function* everyName(root: string, disk: ViewDisk): Generator<FoundName | void> {
  const pending = [root]
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    const { entries, invalid } = yield* list(at, disk)
    if (invalid.some(({ isDirectory }) => isDirectory)) yield { path: at, entry: null }
    for (const entry of entries) {
      const path = join(at, `/${entry.name}`)
      if (entry.isDirectory()) pending.push(path)
      yield { path, entry }
    }
  }
}

function* list(directory: string, disk: ViewDisk): Generator<void, Listing> {
  try {
    return yield* disk.listInSteps(directory)
  } catch (error) {
    const code = systemErrorCode(error)
    if (code === null) throw error
    if (code === 'ENOENT' || code === 'ENOTDIR') return NO_NAMES
    if (code === 'EACCES' && statusOrNull(disk, directory)?.isOwn === false) return NO_NAMES
    throw new ViewRefusal(
      `the directory ${quotePath(directory)} cannot be read (${code}), and may have another name ` +
        'of a denied file',
      error,
    )
  }
}

const NO_NAMES: Listing = { entries: [], invalid: [] }
