import type { InvalidDirectory, WatchedDirectory } from './walk-deps.ts'
import type { RestrictedPath } from './path-restriction.ts'
import type { Area } from './masks.ts'
import type { Workspace } from './workspace.ts'

/** The part of a view plan that the guard keeps up. */
export interface GuardedView {
  readonly workspaces: readonly Workspace[]
  /** Directories of the host that the sandbox sees, workspaces included. */
  readonly areas: readonly Area[]
  readonly restricted: readonly RestrictedPath[]
  readonly watched: readonly WatchedDirectory[]
  /** Held paths with an empty object that the agent has made. */
  readonly placeholders: ReadonlySet<string>
  /** Symbolic links with a name that is held against writing. */
  readonly links: readonly string[]
  /** Directories into which the agent does not look. */
  readonly invalid: readonly InvalidDirectory[]
  /** The directories of repositories that are held. */
  readonly repositories: readonly string[]
  /** Paths of objects that other sandboxes hid; see `HiddenObjects`. */
  readonly hidden: readonly string[]
  /** Wall time at which the walk began, in milliseconds. */
  readonly walkedMs: number
  /** Paths that a strict sandbox does not show, with all below them. */
  readonly absent?: ReadonlySet<string>
}
