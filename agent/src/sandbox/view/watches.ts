import type { FSWatcher, watch as watchFile } from 'node:fs'
import { systemErrorCode } from '../../host/errors.ts'
import { isIndex } from '../aside/repository-indices.ts'
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
  /** Calls the listener every so often; returns a function that ends it. */
  readonly every: (intervalMs: number, listener: () => void) => () => void
  /**
   * A name of the directory is new, gone, or has a new object. Null means that any of its names
   * may be.
   */
  readonly onName: (directory: string, name: Buffer | null) => void
  /** Called every 20 ms while some directory is not watched. */
  readonly onRest: () => void
  /** A directory cannot be watched again after its rest. */
  readonly onFault: (error: unknown) => void
}

/** Watches directories by inotify, one watch for each. */
export interface Watches {
  /** Replaces the watch if another object is at the path now. Throws `ViewRefusal`. */
  add(directory: WatchableDirectory): void
  /** Drops the watches at the path and below it. */
  dropBelow(path: string): void
  /** Drops the watches whose directory is not at its path any more. */
  dropUnless(isAt: (directory: WatchableDirectory) => boolean): void
  get(path: string): WatchableDirectory | undefined
  /** Whether events of some directory are not read now. */
  isResting(): boolean
  /** Events since the last call. */
  takeCount(): number
  close(): void
}

/**
 * Events in one turn of the event loop after which each further directory rests. Node reads events
 * until there are none, so a command that makes them without end would stop the agent.
 */
const MAX_EVENTS_A_TURN = 512
const REST_MS = 20
/** The longest rest, for a directory that begins again at once, in units of `REST_MS`. */
const MAX_RESTS = 32

export function createWatches({ watch, every, onFault, onName, onRest }: WatchesDeps): Watches {
  const open = new Map<string, Open>()
  let events = 0
  let eventsOfTurn = 0
  let endRests: (() => void) | null = null

  const drop = (path: string): void => {
    open.get(path)?.watcher?.close()
    open.delete(path)
  }
  const rest = (own: Open): void => {
    own.watcher?.close()
    own.watcher = null
    own.lastRest = Math.min(MAX_RESTS, own.lastRest * 2 + 1)
    own.rest = own.lastRest
    endRests ??= every(REST_MS, endRest)
  }
  const endRest = (): void => {
    let isResting = false
    for (const own of [...open.values()].filter(({ watcher }) => watcher === null)) {
      own.rest -= 1
      isResting ||= own.rest > 0
      if (own.rest <= 0) reopen(own)
    }
    onRest()
    if (isResting) return
    endRests?.()
    endRests = null
  }
  const reopen = (own: Open): void => {
    const { path } = own.directory
    try {
      own.watcher = start(own)
    } catch (error) {
      onFault(error)
    }
    if (own.watcher === null) open.delete(path)
    else onName(path, null)
  }
  const count = (own: Open): void => {
    events += 1
    if (eventsOfTurn === 0) setImmediate(() => (eventsOfTurn = 0))
    eventsOfTurn += 1
    if (eventsOfTurn > MAX_EVENTS_A_TURN) rest(own)
  }
  const start = (own: Open): FSWatcher | null => {
    const { path } = own.directory
    try {
      const watcher = watch(path, { persistent: false, encoding: 'buffer' }, (event, name) => {
        count(own)
        // A change of content or mode makes no new name, but a new index.
        if (event === 'rename' || isIndex(name?.toString('latin1') ?? '')) onName(path, name)
      })
      return watcher.on('error', () => drop(path))
    } catch (error) {
      if (MISSING.has(systemErrorCode(error) ?? '')) return null
      throw refusalOf(path, error)
    }
  }

  return {
    add(directory) {
      const known = open.get(directory.path)
      if (known !== undefined && isSameObject(known.directory, directory)) return
      drop(directory.path)
      const own: Open = { directory, watcher: null, rest: 0, lastRest: 0 }
      own.watcher = start(own)
      if (own.watcher !== null) open.set(directory.path, own)
    },
    dropBelow(path) {
      for (const each of open.keys()) if (isWithin(each, path)) drop(each)
    },
    dropUnless(isAt) {
      for (const [path, { directory }] of open) if (!isAt(directory)) drop(path)
    },
    get: (path) => open.get(path)?.directory,
    isResting: () => endRests !== null,
    takeCount() {
      const taken = events
      events = 0
      for (const own of open.values()) if (own.watcher !== null) own.lastRest >>= 1
      return taken
    },
    close() {
      endRests?.()
      for (const path of open.keys()) drop(path)
    },
  }
}

export function isSameObject(a: ObjectIdentity, b: ObjectIdentity): boolean {
  return a.device === b.device && a.inode === b.inode
}
type ObjectIdentity = Pick<WatchableDirectory, 'device' | 'inode'>

interface Open {
  readonly directory: WatchableDirectory
  /** Null while the directory rests. */
  watcher: FSWatcher | null
  /** Units that the present rest still takes, and that the last one took. */
  rest: number
  lastRest: number
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
