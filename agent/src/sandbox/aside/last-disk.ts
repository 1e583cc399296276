import { chmodSync, lstatSync } from 'node:fs'
import { systemErrorCode } from '../../errors.ts'
import type { Listing, ViewDisk } from '../view/disk.ts'
import { quotePath } from '../view/view-refusal.ts'

export interface LastDiskDeps {
  readonly disk: ViewDisk
  /** Directories that were there before the command, which keep their modes. */
  readonly directories: ReadonlySet<string>
  /** Called with a sentence for people for a directory that cannot be read. */
  readonly onProblem: (problem: string) => void
}

/** Reading of the file system once no process of a sandbox is left. */
export interface LastDisk extends ViewDisk {
  /** Opens the directories above a path that the command has made and closed. */
  openAbove(path: string): void
}

const OPEN = 0o700
const NO_NAMES: Listing = { entries: [], invalid: [] }

/**
 * A command must not keep a name from being found by a directory that it has closed, so such a
 * directory is opened again. One that cannot be read has no names here, and the others are read.
 */
export function createLastDisk({ directories, disk, onProblem }: LastDiskDeps): LastDisk {
  const open = (directory: string): void => {
    if (directories.has(directory)) return
    const { mode, uid } = lstatSync(directory)
    if (uid === process.geteuid?.() && (mode & OPEN) !== OPEN)
      chmodSync(directory, (mode & 0o7777) | OPEN)
  }
  return {
    ...disk,
    list(directory) {
      try {
        open(directory)
        // Programs obey no name that is not UTF-8.
        return { ...disk.list(directory), invalid: [] }
      } catch (error) {
        const code = systemErrorCode(error)
        if (code === null) throw error
        if (code !== 'ENOENT') onProblem(`${quotePath(directory)} could not be checked (${code})`)
        return NO_NAMES
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
  }
}
