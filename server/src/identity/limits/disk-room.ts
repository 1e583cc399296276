import { statfsSync } from 'node:fs'
import { ApiError } from '../../platform/api-error.ts'
import type { RequireHistoryRoom } from '../../history/change-log.ts'
import { isCaller, needOf } from './history-quota.ts'

const MIB = 1024 * 1024
/** A tenth of a small disk: more than the ballast, whose room is for the other changes. */
const SHARE = 0.1
const MOST_BYTES = 64 * MIB

/**
 * Refuses ordinary changes of callers while the disk of the data directory is nearly full, so that
 * what ends something or answers an attack still has room. Records of machines end earlier. Throws
 * ApiError 503.
 */
export function createDiskRoom({
  dataDir,
  databaseUrl,
}: {
  readonly dataDir: string
  readonly databaseUrl: string | null
}): RequireHistoryRoom {
  return async (_reader, _org, { author, changes }) => {
    if (databaseUrl !== null || !isCaller(author) || needOf(changes) !== 'ordinary') return
    const { bsize, blocks, bavail } = statfsSync(dataDir)
    if (bavail * bsize >= Math.min(blocks * bsize * SHARE, MOST_BYTES)) return
    throw new ApiError(
      503,
      'internal',
      'the disk of the server is nearly full; its operator must free room; ' +
        'revoking, removing and denying still work',
      { headers: { 'retry-after': '5' } },
    )
  }
}
