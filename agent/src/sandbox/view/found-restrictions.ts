import { kindOf, realPathOrNull, type DirectoryEntry, type ViewDisk } from './disk.ts'
import type { RestrictedPath, Restriction } from './path-restriction.ts'
import { quotePath } from './view-refusal.ts'

/** The restricted paths that one walk found. */
export class FoundRestrictions {
  readonly #disk: Pick<ViewDisk, 'realPath' | 'status'>
  readonly #restricted: RestrictedPath[] = []
  readonly #warnings: string[] = []
  readonly #hiddenLinks: string[] = []
  readonly #restrictedLinks: string[] = []

  constructor(disk: Pick<ViewDisk, 'realPath' | 'status'>) {
    this.#disk = disk
  }

  add(restricted: RestrictedPath): void {
    this.#restricted.push(restricted)
  }

  /** The restriction applies to the object; a symbolic link is held at its end. */
  addEntry(path: string, entry: DirectoryEntry, level: Restriction, isDenied: boolean): void {
    const kind = kindOf(entry)
    if (kind !== 'link') {
      this.add({ path, level, kind: kind === 'directory' ? kind : 'file', isDenied })
      return
    }
    const links = level === 'hidden' ? this.#hiddenLinks : this.#restrictedLinks
    links.push(path)
    const real = realPathOrNull(this.#disk, path)
    const status = real === null ? null : this.#disk.status(real)
    if (real !== null && status !== null)
      this.add({
        path: real,
        level,
        kind: status.kind === 'directory' ? 'directory' : 'file',
        isDenied,
      })
    if (level !== 'hidden')
      this.warn(
        `${quotePath(path)} is a symbolic link; the sandbox can replace it, but not write its end`,
      )
  }

  /** Notes a link that has a held name, and no held end. */
  addLink(path: string): void {
    this.#restrictedLinks.push(path)
  }

  warn(warning: string): void {
    this.#warnings.push(warning)
  }

  result(): {
    readonly restricted: readonly RestrictedPath[]
    readonly warnings: readonly string[]
    /** See `WalkedTree`. */
    readonly hiddenLinks: readonly string[]
    readonly restrictedLinks: readonly string[]
  } {
    return {
      restricted: this.#restricted,
      warnings: this.#warnings,
      hiddenLinks: this.#hiddenLinks,
      restrictedLinks: this.#restrictedLinks,
    }
  }
}
