import type { EventKind } from '@palisade/protocol'
import { statfsSync } from 'node:fs'
import { ApiError } from '../../platform/api-error.ts'
import type { RequireHistoryRoom } from '../../history/change-log.ts'
import type { Change } from '../../store/change.ts'
import { createHistoryQuota, isCaller, needOf } from './history-quota.ts'

const MIB = 1024 * 1024
/** A tenth of a small disk: more than the ballast, whose room is for other reductions alone. */
const SHARE = 0.1
/** Free bytes below which changes are refused. Responses can be repeated without end. */
const LEAST_BYTES = { ordinary: 64 * MIB, response: 32 * MIB, content: 20 * MIB }

/** Reductions whose events, or whose rows, hold whole policies: up to 40 MB of an organization. */
const OF_CONTENT: ReadonlySet<EventKind> = new Set<EventKind>([
  'policy.deleted',
  'rule.deleted',
  'rollout.finished',
  'rollout.rolled_back',
])

/**
 * Refuses changes of callers in steps while the disk of the data directory fills: ordinary ones,
 * then responses, then the deletion of policies and rules. A revocation always has room. Records of
 * machines end earlier. Throws ApiError 503.
 */
export function createDiskRoom({
  dataDir,
  databaseUrl,
}: {
  readonly dataDir: string
  readonly databaseUrl: string | null
}): RequireHistoryRoom {
  return async (_reader, _org, { author, changes }) => {
    if (databaseUrl !== null || !isCaller(author)) return
    const leastBytes = leastBytesOf(changes)
    if (leastBytes === 0) return
    const { bsize, blocks, bavail } = statfsSync(dataDir)
    if (bavail * bsize >= Math.min(blocks * bsize * SHARE, leastBytes)) return
    throw new ApiError(
      503,
      'internal',
      'the disk of the server is nearly full; its operator must free room; ' +
        'credentials, machines, members and grants can still be revoked',
      { headers: { 'retry-after': '5' } },
    )
  }
}

/** Refuses changes for which an organization has no quota left, or the server no disk. */
export function createHistoryRoom(
  maxMib: number,
  disk: Parameters<typeof createDiskRoom>[0],
): RequireHistoryRoom {
  const requireQuota = createHistoryQuota(maxMib)
  const requireDiskRoom = createDiskRoom(disk)
  return async (reader, org, made) => {
    await requireQuota(reader, org, made)
    await requireDiskRoom(reader, org, made)
  }
}

/** A kept answer without a change can be repeated without end. */
function leastBytesOf(changes: readonly Change[]): number {
  if (changes.length === 0) return LEAST_BYTES.content
  const need = needOf(changes)
  if (need !== 'reduction') return LEAST_BYTES[need]
  return changes.some(({ kind }) => OF_CONTENT.has(kind)) ? LEAST_BYTES.content : 0
}
