import { dirname } from 'node:path'
import { statusOrNull, type ObjectStatus, type ViewDisk } from '../view/disk.ts'

type KnownDisk = Pick<ViewDisk, 'status'>

interface Known {
  /** The object of a symbolic link, which has no mask; null for an object that has one. */
  readonly link: string | null
  readonly directory: string | null
}

/**
 * Names that the command did not make. A mask keeps an object in its directory, but the command can
 * move the directory and put another one in its place, in which the name is not known.
 */
export class KnownNames {
  readonly #disk: KnownDisk
  readonly #known = new Map<string, Known>()

  constructor(held: Iterable<string>, disk: KnownDisk) {
    this.#disk = disk
    const directories = new Map<string, string | null>()
    for (const path of held) {
      const above = dirname(path)
      const directory = directories.get(above) ?? objectAt(above, disk)
      directories.set(above, directory)
      this.#known.set(path, { link: null, directory })
    }
  }

  /** Keeps the object that the name has now. */
  add(path: string): void {
    this.#known.set(path, { link: this.#linkAt(path), directory: this.#directoryOf(path) })
  }

  has(path: string): boolean {
    const known = this.#known.get(path)
    if (known === undefined || known.directory !== this.#directoryOf(path)) return false
    return known.link === null || known.link === this.#linkAt(path)
  }

  #linkAt(path: string): string | null {
    const status = statusOrNull(this.#disk, path)
    // Without a mask a link can end, and the next one can have its inode.
    return status?.kind === 'link' ? `${objectOf(status)}:${status.changedMs}` : null
  }

  #directoryOf(path: string): string | null {
    return objectAt(dirname(path), this.#disk)
  }
}

/** The object at the path; null without one. */
export function objectAt(path: string, disk: KnownDisk): string | null {
  const status = statusOrNull(disk, path)
  return status === null ? null : objectOf(status)
}

function objectOf({ device, inode }: ObjectStatus): string {
  return `${device}:${inode}`
}
