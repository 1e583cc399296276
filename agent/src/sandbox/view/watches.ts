import type { FSWatcher, watch as watchFile } from 'node:fs'
import { systemErrorCode } from '../../errors.ts'
import { isWithin } from './mount-table.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'

/** A directory, by its path and by the object that was there. */
export interface WatchableDirectory {
  readonly path: string
  readonly device: number
  readonly inode: number
}

export interface WatchesDeps {
  readonly watch: typeof watchFile
  /** A name of the directory is new, gone, or has a new object; null when the name is unknown. */
  readonly onName: (directory: string, name: Buffer | null) => void
}

/** Watches directories by inotify, one watch for each. */
export interface Watches {
  /** Replaces the watch if another object is at the path now. Throws `ViewRefusal`. */
  add(directory: WatchableDirectory): void
  /** Drops the watches at the path and below it. */
  dropBelow(path: string): void
  has(path: string): boolean
  all(): readonly WatchableDirectory[]
  /** Events since the last call. */
  takeCount(): number
  close(): void
}

export function createWatches({ watch, onName }: WatchesDeps): Watches {
  const open = new Map<string, { readonly directory: WatchableDirectory; watcher: FSWatcher }>()
  let events = 0

  const drop = (path: string): void => {
    open.get(path)?.watcher.close()
    open.delete(path)
  }
  const start = ({ path }: WatchableDirectory): FSWatcher | null => {
    try {
      const watcher = watch(path, { persistent: false, encoding: 'buffer' }, (event, name) => {
        events += 1
        // A change of content or mode makes no new name.
        if (event === 'rename') onName(path, name)
      })
      watcher.on('error', () => drop(path))
      return watcher
    } catch (error) {
      if (MISSING.has(systemErrorCode(error) ?? '')) return null
      throw refusalOf(path, error)
    }
  }

  return {
    add(directory) {
      const known = open.get(directory.path)?.directory
      if (known?.device === directory.device && known.inode === directory.inode) return
      drop(directory.path)
      const watcher = start(directory)
      if (watcher !== null) open.set(directory.path, { directory, watcher })
    },
    dropBelow(path) {
      for (const each of open.keys()) if (isWithin(each, path)) drop(each)
    },
    has: (path) => open.has(path),
    all: () => [...open.values()].map(({ directory }) => directory),
    takeCount() {
      const count = events
      events = 0
      return count
    },
    close() {
      for (const path of open.keys()) drop(path)
    },
  }
}

/** The directory is gone; the watch of its parent tells of it. */
const MISSING = new Set(['ENOENT', 'ENOTDIR'])

function refusalOf(path: string, error: unknown): Error {
  const code = systemErrorCode(error)
  if (code === 'ENOSPC')
    return new ViewRefusal(
      `no watch is left for ${quotePath(path)}; raise the limit by ` +
        '`sysctl fs.inotify.max_user_watches=1048576`, or choose a smaller workspace',
      error,
    )
  if (code === 'EMFILE')
    return new ViewRefusal(
      'no watch queue is left; raise the limit by `sysctl fs.inotify.max_user_instances=1024`',
      error,
    )
  return new ViewRefusal(`${quotePath(path)} cannot be watched (${code ?? 'unknown error'})`, error)
}
