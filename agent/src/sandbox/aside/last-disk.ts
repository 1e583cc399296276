import { runSteps } from '@palisade/policy-core'
import { chmodSync, lstatSync, type Stats } from 'node:fs'
import { systemErrorCode } from '../../host/errors.ts'
import { statusOrNull, type Listing, type ViewDisk } from '../view/disk.ts'
import { quotePath, ViewRefusal } from '../view/view-refusal.ts'

export interface LastDiskDeps {
  readonly disk: ViewDisk
  /** Called with a sentence for people for a path that cannot be looked at. */
  readonly onProblem: (problem: string) => void
}

/**
 * Reading of the file system once no process of a sandbox is left. `list`, `listInSteps` and
 * `status` throw no error of the system.
 */
export interface LastDisk extends ViewDisk {
  /** Opens the directories above a path that the command has closed. */
  openAbove(path: string): void
  /** Gives all opened directories their modes back. */
  close(): void
}

const OPEN = 0o700
const MODE = 0o7777
const NO_NAMES: Listing = { entries: [], invalid: [] }

/**
 * A command must not keep a name from being found by a directory that it has closed, so such a
 * directory is opened until the end. One that cannot be read has no names here, and the others are
 * read.
 */
export function createLastDisk({ disk, onProblem }: LastDiskDeps): LastDisk {
  const opened: { readonly path: string; readonly found: Stats }[] = []
  const open = (path: string): void => {
    const found = lstatSync(path)
    if (found.uid !== process.geteuid?.() || (found.mode & OPEN) === OPEN) return
    chmodSync(path, (found.mode & MODE) | OPEN)
    opened.push({ path, found })
  }
  const tell = (path: string | Buffer, error: unknown): void => {
    const code = systemErrorCode(error instanceof ViewRefusal ? error.cause : error)
    if (code === null) throw error
    if (code !== 'ENOENT') onProblem(`${quotePath(path)} could not be checked (${code})`)
  }
  const listInSteps: ViewDisk['listInSteps'] = function* listOpened(directory) {
    try {
      open(directory)
      const { entries, invalid } = yield* disk.listInSteps(directory)
      // Programs obey no file with a name that is not UTF-8.
      return { entries, invalid: invalid.filter(({ isDirectory }) => isDirectory) }
    } catch (error) {
      tell(directory, error)
      return NO_NAMES
    }
  }
  return {
    ...disk,
    list: (directory) => runSteps(listInSteps(directory)),
    listInSteps,
    status(path) {
      try {
        return disk.status(path)
      } catch (error) {
        tell(path, error)
        return null
      }
    },
    openAbove(path) {
      for (let at = path.indexOf('/', 1); at > 0; at = path.indexOf('/', at + 1))
        try {
          open(path.slice(0, at))
        } catch (error) {
          if (systemErrorCode(error) === null) throw error
          return
        }
    },
    close() {
      // A directory is reached only through those that were opened before it.
      for (const { path, found } of opened.toReversed())
        if (statusOrNull(disk, path)?.inode === found.ino) chmodSync(path, found.mode & MODE)
    },
  }
}
