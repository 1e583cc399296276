import type { PathDenies } from '@palisade/policy-core'
import type { ViewDisk } from './disk.ts'
import type { Workspace } from './workspace.ts'

/** Limits of one walk. Beyond them the workspace is refused, because a part of it is unknown. */
export interface WalkLimits {
  readonly maxEntries: number
  readonly maxDepth: number
  /**
   * Length of the path of a directory. A name in it must fit into the 4,096 bytes of the kernel
   * too.
   */
  readonly maxPathBytes: number
  readonly maxMs: number
}

/** A directory in which a new name may be denied. */
export interface WatchedDirectory {
  readonly workspace: Workspace
  readonly path: string
  readonly device: number
  readonly inode: number
  /** Time of its last change, read before its names were. */
  readonly changedMs: number
}

export interface WalkDeps {
  readonly disk: ViewDisk
  readonly denies: PathDenies
  /** The guarded names. They apply in writable workspaces. */
  readonly guarded: PathDenies
  /** Whether a rule opens a guarded path by its name. */
  readonly isOpened: (path: string) => boolean
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  readonly limits: WalkLimits
  /** Whether the path is in a repository that the guarded names leave alone. */
  readonly isNewRepository?: (path: string) => boolean
  /** Whether a sandbox has hidden the object that is at the path now. */
  readonly isHiddenObject?: (path: string) => boolean
  /** Whether the walk enters new directories that are to be hidden; see `meet`. */
  readonly entersHidden?: boolean
  /** Directories that the walk does not enter. */
  readonly isKnown?: (path: string) => boolean
  /** Deals with a name that is to be held; absent means that it is. See `MadeNames`. */
  readonly meet?: (name: MadeName) => 'taken' | 'waits' | 'held'
  /** Deals with a repository that is to be held. Returns whether its parts are not to be held. */
  readonly meetRepository?: (path: string) => boolean
  /**
   * Deals with a directory that a rule cannot name. Returns whether the walk goes on whatever rules
   * deny.
   */
  readonly meetInvalid?: (found: InvalidDirectory) => boolean
  /** Called before the names of such a directory are read. */
  readonly onWatched?: (directory: WatchedDirectory) => void
}

/** A name that a rule denies to write, or that other programs obey. */
export interface MadeName {
  readonly path: string
  /** `lead`: a file or link `.git`, which leads git to a repository. */
  readonly cause: 'denied' | 'guarded' | 'lead'
  /** Whether a rule denies to read it too. */
  readonly isHidden: boolean
}

/** A directory with a name that is not UTF-8. */
export interface InvalidDirectory {
  /** The path of the directory above. */
  readonly directory: string
  readonly bytes: Buffer
}

/** A directory that a walk has to read. */
export interface WalkStart {
  readonly workspace: Workspace
  readonly path: string
  /** Paths of other workspaces, which have walks of their own. */
  readonly others: ReadonlySet<string>
}
