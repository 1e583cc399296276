import { FILESYSTEM_ACTIONS, type DenyPlace, type FilesystemAction } from '@palisade/policy-core'

/**
 * The restriction of a path in a sandbox.
 *
 * - `hidden`: it shows an empty object.
 * - `read-only`: it shows itself.
 * - `pinned`: it is writable, but cannot be renamed or removed.
 */
export type Restriction = 'hidden' | 'read-only' | 'pinned'

/** A path that the sandbox may not use freely. */
export interface RestrictedPath {
  readonly path: string
  readonly level: Restriction
  readonly kind: 'file' | 'directory'
  /** Whether a rule restricts it; otherwise it is a guarded name. */
  readonly isDenied: boolean
}

/** The directory of installed packages, which package managers rename and link as they like. */
export const PACKAGES = '/node_modules/'

/** The restriction of a path by a rule. */
export type RuleRestriction = Exclude<Restriction, 'pinned'>

/** How a denied action restricts a path. A view keeps every action from a hidden path. */
const RESTRICTIONS: Readonly<Record<FilesystemAction, RuleRestriction>> = {
  read: 'hidden',
  write: 'read-only',
}

/** The strongest restriction by the denied actions; null without one. */
export function restrictionOf(denies: DenyPlace['denies']): RuleRestriction | null {
  let level: RuleRestriction | null = null
  for (const action of FILESYSTEM_ACTIONS) {
    if (!denies[action]) continue
    if (RESTRICTIONS[action] === 'hidden') return 'hidden'
    level = 'read-only'
  }
  return level
}

/** The actions that a path with this access lets a command do. */
export function actionsOf(access: 'ro' | 'rw'): readonly FilesystemAction[] {
  return access === 'rw'
    ? FILESYSTEM_ACTIONS
    : FILESYSTEM_ACTIONS.filter((action) => RESTRICTIONS[action] === 'hidden')
}
