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
