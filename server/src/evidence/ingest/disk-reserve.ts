import { statfs } from 'node:fs/promises'
import { ApiError } from '../../platform/api-error.ts'

const MIB = 1024 * 1024
/** A tenth of a small disk. */
const SHARE = 0.1
const MOST_BYTES = 512 * MIB
const RETRY_AFTER_SECONDS = 300

/**
 * Refuses records while the disk of the data directory has little room left: machines that send
 * without end must not keep policies on the same disk from being written. Throws ApiError 503.
 */
export type RequireDiskRoom = () => Promise<void>

/** A database elsewhere refuses by itself. */
export function createDiskReserve({
  dataDir,
  databaseUrl,
}: {
  readonly dataDir: string
  readonly databaseUrl: string | null
}): RequireDiskRoom {
  return async () => {
    if (databaseUrl !== null) return
    const { bsize, blocks, bavail } = await statfs(dataDir)
    if (bavail * bsize >= Math.min(blocks * bsize * SHARE, MOST_BYTES)) return
    throw new ApiError(503, 'internal', 'the disk of the server is nearly full; try again later', {
      headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
    })
  }
}
