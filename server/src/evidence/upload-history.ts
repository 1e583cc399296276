import type { EvidenceSettings } from '@palisade/protocol'
import type { StoreReader } from '../store/store.ts'

/** Changes of an organization that are looked through. */
const MOST_CHANGES = 500

/** An end of a setting of `upload`. */
interface UploadEnd {
  readonly upload: EvidenceSettings['upload']
  readonly atMs: number
}

/**
 * The settings that were in force before each change from a time on: the records of that time have
 * no more than they let through. Null for too many changes.
 */
export async function listUploadEnds(
  { events }: Pick<StoreReader, 'events'>,
  org: string,
  fromMs: number,
): Promise<readonly UploadEnd[] | null> {
  const head = await events.head(org)
  const changes = await events.list(org, {
    after: 0,
    through: head?.sequence ?? 0,
    limit: MOST_CHANGES,
    kind: 'organization.updated',
    since: new Date(fromMs).toISOString(),
  })
  if (changes.length === MOST_CHANGES) return null
  return changes.flatMap(({ before, at }) => {
    const evidence = before?.['evidence'] as EvidenceSettings | undefined
    return evidence === undefined ? [] : [{ upload: evidence.upload, atMs: Date.parse(at) }]
  })
}

/**
 * Since when machines have been told to upload every request, in epoch milliseconds, `fromMs` at
 * the earliest; null while they are not, and after too many changes. A sample does not count: a
 * machine draws the same requests each time, so those of a rule may never be in it.
 */
export async function readFullSince(
  reader: Pick<StoreReader, 'events' | 'organizations'>,
  org: string,
  fromMs: number,
): Promise<number | null> {
  const { upload } = await reader.organizations.evidence(org)
  const ends = await listUploadEnds(reader, org, fromMs)
  if (upload !== 'full' || ends === null) return null
  const lacking = ends.filter((each) => each.upload !== 'full')
  return Math.max(fromMs, ...lacking.map(({ atMs }) => atMs))
}
