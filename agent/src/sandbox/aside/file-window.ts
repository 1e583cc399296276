import { readSync } from 'node:fs'

/** No longer path leads anywhere. */
export const MAX_NAME_BYTES = 4096
/** Bytes that one look at a file has at least. An entry of an index is shorter. */
const LOOK_BYTES = 2 * MAX_NAME_BYTES
const WINDOW_BYTES = 128 * 1024

/** A file that is read forward in pieces of bounded size. */
export class FileWindow {
  readonly #descriptor: number
  readonly size: number
  #from = 0
  #bytes = Buffer.alloc(0)

  constructor(descriptor: number, size: number) {
    this.#descriptor = descriptor
    this.size = size
  }

  /** At least 8 KiB from the position, or the rest of the file. */
  at(position: number): Buffer {
    const end = Math.min(this.size, position + LOOK_BYTES)
    if (position < this.#from || end > this.#from + this.#bytes.length) {
      const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(WINDOW_BYTES, this.size - position)))
      const length = readSync(this.#descriptor, bytes, 0, bytes.length, position)
      this.#bytes = bytes.subarray(0, length)
      this.#from = position
    }
    return this.#bytes.subarray(position - this.#from)
  }
}
