import { FILESYSTEM_ACTIONS, type DenyPlace, type FilesystemAction } from '@palisade/policy-core'

/**
 * How a path is kept from the sandbox.
 *
 * - `hidden`: it shows an empty object.
 * - `read-only`: it shows itself.
 * - `pinned`: it is writable, but cannot be renamed or removed.
 */
export type Hold = 'hidden' | 'read-only' | 'pinned'

/** A path that the sandbox may not use freely. */
export interface HeldPath {
  readonly path: string
  readonly hold: Hold
  readonly kind: 'file' | 'directory'
  /** Whether a rule holds it; otherwise it is a guarded name. */
  readonly isDenied: boolean
}

/** The hold of a path by a rule. */
export type DenyHold = Exclude<Hold, 'pinned'>

/** How a denied action holds a path. A view keeps every action from a hidden path. */
const HOLDS: Readonly<Record<FilesystemAction, DenyHold>> = { read: 'hidden', write: 'read-only' }

/** The strongest hold of the denied actions; null without one. */
export function holdOf(denies: DenyPlace['denies']): DenyHold | null {
  let hold: DenyHold | null = null
  for (const action of FILESYSTEM_ACTIONS) {
    if (!denies[action]) continue
    if (HOLDS[action] === 'hidden') return 'hidden'
    hold = 'read-only'
  }
  return hold
}

/** The actions that a path with this access lets a command do. */
export function actionsOf(access: 'ro' | 'rw'): readonly FilesystemAction[] {
  return access === 'rw'
    ? FILESYSTEM_ACTIONS
    : FILESYSTEM_ACTIONS.filter((action) => HOLDS[action] === 'hidden')
}
