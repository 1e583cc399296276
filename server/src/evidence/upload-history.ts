import type { EvidenceSettings } from '@palisade/protocol'
import { findRemoval } from '../history/removals.ts'
import type { EventRecord } from '../store/records.ts'
import type { StoreReader } from '../store/store.ts'

/** Changes of an organization that are looked through. */
const MOST_CHANGES = 500

/** An end of a setting of `upload`. */
interface UploadEnd {
  readonly upload: EvidenceSettings['upload']
  readonly atMs: number
}

/** A time up to now whose records are asked for. */
export interface UploadTime {
  readonly fromMs: number
  /** When records of the organization were last refused because of a limit. */
  readonly lastLimitedMs: number | null
}

/**
 * The settings that were in force before each change from a time on: the records of that time have
 * no more than they let through. A gap ends like the setting `off`: removed events may have held
 * a change, and records may have been dropped, or refused because of a limit. Null for too many
 * changes.
 */
export async function listUploadEnds(
  { events }: Pick<StoreReader, 'events'>,
  org: string,
  { fromMs, lastLimitedMs }: UploadTime,
): Promise<readonly UploadEnd[] | null> {
  const through = (await events.head(org))?.sequence ?? 0
  const since = new Date(fromMs).toISOString()
  const list = (kind: string): Promise<EventRecord[]> =>
    events.list(org, { after: 0, through, limit: MOST_CHANGES, kind, since })
  const changes = await list('organization.updated')
  const drops = await list('evidence.dropped')
  if (changes.length === MOST_CHANGES || drops.length === MOST_CHANGES) return null
  const gaps = [await findRemovedUntil(events, org, since), lastLimitedMs, timeOf(drops.at(-1))]
  return [
    ...changes.flatMap(({ before, at }) => {
      const evidence = before?.['evidence'] as EvidenceSettings | undefined
      return evidence === undefined ? [] : [{ upload: evidence.upload, atMs: Date.parse(at) }]
    }),
    ...gaps.flatMap((atMs) =>
      atMs === null || atMs < fromMs ? [] : [{ upload: 'off' as const, atMs }],
    ),
  ]
}

/**
 * Since when machines have been told to upload every request, and no record was lost by a limit or
 * dropped, in epoch milliseconds, `fromMs` at the earliest; null while they are not told so, and
 * after too many changes. A sample does not count: a machine draws the same requests each time, so
 * those of a rule may never be in it.
 */
export async function readFullSince(
  reader: Pick<StoreReader, 'events' | 'organizations'>,
  org: string,
  time: UploadTime,
): Promise<number | null> {
  const { upload } = await reader.organizations.evidence(org)
  const ends = await listUploadEnds(reader, org, time)
  if (upload !== 'full' || ends === null) return null
  const lacking = ends.filter((each) => each.upload !== 'full')
  return Math.max(time.fromMs, ...lacking.map(({ atMs }) => atMs))
}

/**
 * The latest time of a removed event; that of the first kept one where the removal does not tell
 * it. Null without a removal since then: its events are earlier.
 */
async function findRemovedUntil(
  events: StoreReader['events'],
  org: string,
  since: string,
): Promise<number | null> {
  const removal = await findRemoval(events, org, since)
  if (removal === null) return null
  const at = removal.after?.['last_removed_at']
  if (typeof at === 'string') return Date.parse(at)
  const through = removal.sequence
  return timeOf((await events.list(org, { after: 0, through, limit: 1 }))[0])
}

function timeOf(event: EventRecord | undefined): number | null {
  return event === undefined ? null : Date.parse(event.at)
}
