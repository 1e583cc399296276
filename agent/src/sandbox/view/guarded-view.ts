import type { WatchedDirectory } from './findings.ts'
import type { HeldPath } from './held-path.ts'
import type { Area } from './masks.ts'
import type { Workspace } from './workspace.ts'

/** The part of a view plan that the guard keeps up. */
export interface GuardedView {
  readonly workspaces: readonly Workspace[]
  /** Directories of the host that the sandbox sees, workspaces included. */
  readonly areas: readonly Area[]
  readonly held: readonly HeldPath[]
  readonly watched: readonly WatchedDirectory[]
  /** Symbolic links with a name that is held against writing. */
  readonly links: readonly string[]
  /** The directories of repositories that are held. */
  readonly repositories: readonly string[]
  /** Wall time at which the walk began, in milliseconds. */
  readonly walkedMs: number
  /** Paths that a strict sandbox does not show, with all below them. */
  readonly absent?: ReadonlySet<string>
}
