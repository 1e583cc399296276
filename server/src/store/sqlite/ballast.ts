import { randomBytes } from 'node:crypto'
import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

const MIB = 1024 * 1024
const BYTES = 16 * MIB
/** Free bytes below which the room of the ballast is given to the database. */
const LEAST_FREE = MIB
/** Free bytes that a new ballast leaves: of such a disk, a tenth is more than the ballast. */
const LEFT_FREE = 10 * BYTES

/**
 * A file beside the database at `path`, which holds room for the day that the disk is full: a
 * server must then still start, and revoke.
 */
export interface Ballast {
  /** Makes the file where the disk has much room. Never throws. */
  make(): void
  /** Removes the file once the disk has no more room. To be called before each transaction. */
  giveRoom(): void
}

export function createBallast(path: string): Ballast {
  const file = `${path}-ballast`
  const directory = dirname(path)
  const freeBytes = (): number => {
    const { bsize, bavail } = statfsSync(directory)
    return bsize * bavail
  }
  return {
    make() {
      try {
        if (statSync(file, { throwIfNoEntry: false })?.size === BYTES) return
        rmSync(file, { force: true })
        if (freeBytes() >= LEFT_FREE + BYTES) writeWhole(file)
      } catch {
        // Without it a full disk refuses all writes.
      }
    },
    giveRoom() {
      try {
        if (freeBytes() < LEAST_FREE) rmSync(file, { force: true })
      } catch {
        // The transaction that follows tells of the disk.
      }
    },
  }
}

/** Random bytes: some file systems take no room for zeros. */
function writeWhole(file: string): void {
  const descriptor = openSync(file, 'wx', 0o600)
  try {
    for (let written = 0; written < BYTES; written += MIB) writeSync(descriptor, randomBytes(MIB))
  } finally {
    closeSync(descriptor)
  }
}
