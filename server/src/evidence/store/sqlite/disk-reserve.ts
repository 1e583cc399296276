import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { StoreError } from '../../../store/store-error.ts'

const MIB = 1024 * 1024
/** A tenth of a small disk. */
const SHARE = 0.1
const MOST_BYTES = 512 * MIB

/** Bytes of pages for each byte of a batch: a page that is split is half full. */
const PAGE_SHARE = 2

/** Bytes that are about to be written. */
export interface WrittenBytes {
  /** Bytes of batches whose commit is still to come. */
  readonly underWay: number
  /** Free pages of the file, which are used first. */
  readonly reusable: number
}

/**
 * Refuses records while the disk of the evidence at `path` has little room left: machines that send
 * without end must not keep policies on the same disk from being written. Throws `ERR_STORE_FULL`.
 */
export type RequireDiskRoom = (written: WrittenBytes) => void

export function createDiskReserve(path: string): RequireDiskRoom {
  const directory = dirname(path)
  return ({ underWay, reusable }) => {
    const { bsize, blocks, bavail } = statfsSync(directory)
    const free = bavail * bsize
    const least = Math.min(blocks * bsize * SHARE, MOST_BYTES)
    // A batch is in the log first, which is copied into the file later.
    const growth = 2 * PAGE_SHARE * underWay + logBytes(path)
    if (free + reusable >= least + growth && free >= least / 2) return
    throw new StoreError('ERR_STORE_FULL', `the disk of \`${directory}\` is nearly full`)
  }
}

function logBytes(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
}
