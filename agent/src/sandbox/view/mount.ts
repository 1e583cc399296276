/**
 * One step of building the file system of a sandbox, in the order of the list. Paths are absolute.
 * Missing parents of a target are created.
 *
 * - `bind`: the source and all mounts below it.
 * - `tmpfs`: a private file system; `size` in bytes, `mode` as permission bits.
 * - `dir`: an empty directory of the surrounding file system.
 * - `symlink`: a symbolic link at `target` with the text `to`.
 * - `empty-file`, `empty-dir`: a read-only bind of an empty object of the agent. It hides the
 *   target.
 * - `proc`, `dev`: a new procfs with read-only settings of the kernel, and a directory of the
 *   harmless devices.
 */
export type Mount =
  | {
      readonly kind: 'bind'
      readonly source: string
      readonly target: string
      readonly access: 'ro' | 'rw'
    }
  | {
      readonly kind: 'tmpfs'
      readonly target: string
      readonly size?: number
      readonly mode?: number
    }
  | { readonly kind: 'dir'; readonly target: string }
  | { readonly kind: 'symlink'; readonly target: string; readonly to: string }
  | { readonly kind: 'empty-file'; readonly target: string }
  | { readonly kind: 'empty-dir'; readonly target: string }
  | { readonly kind: 'proc'; readonly target: string }
  | { readonly kind: 'dev'; readonly target: string }

/** Parts of procfs that are the whole machine's. They are read-only, `sys` on every machine. */
export const KERNEL_SETTINGS = ['sys', 'fs', 'scsi', 'acpi', 'driver', 'mtrr'] as const
